//! Stand-in until the snapshots are merged.
use crate::domain::{
    ids::{MessageId, SessionId},
    session::ChangedFile,
};
use crate::store::entity::session::Model as Session;
use std::{path::Path, pin::Pin};
pub struct Snapshots;
pub struct MessageRecorder;
pub struct Scan;
#[derive(Default)]
pub struct Changes {
    pub paths: Vec<String>,
    pub not_captured: Vec<String>,
}
impl Snapshots {
    pub fn recorder(
        &self,
        _root: &Path,
        _session: SessionId,
        _message: MessageId,
    ) -> MessageRecorder {
        MessageRecorder
    }
    pub async fn finish(&self, _recorder: &MessageRecorder) -> anyhow::Result<()> {
        Ok(())
    }
    pub async fn finish_message(
        &self,
        _session: &Session,
        _message: MessageId,
    ) -> anyhow::Result<()> {
        Ok(())
    }
    pub async fn changed_files(
        &self,
        _session: SessionId,
        _root: &Path,
    ) -> anyhow::Result<Vec<ChangedFile>> {
        Ok(Vec::new())
    }
    pub async fn drop_reverted(&self, _session: SessionId) -> anyhow::Result<()> {
        Ok(())
    }
}
impl MessageRecorder {
    pub fn has_changes(&self) -> bool {
        false
    }
    pub async fn before_command(&self) -> Result<Scan, String> {
        Ok(Scan)
    }
    pub async fn after_command(&self, _scan: Scan) -> Result<Changes, String> {
        Ok(Changes::default())
    }
}
impl super::tools::Recorder for MessageRecorder {
    fn before_change<'a>(
        &'a self,
        _path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async { Ok(()) })
    }
}
