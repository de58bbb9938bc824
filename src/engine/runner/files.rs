//! The files of prompts, as the model is given them.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    domain::{
        conversation::{Attached, Image},
        ids::{AttachmentId, MessageId, SessionId},
        message::{FileKind, FilePart, Part},
    },
    engine::{Engine, attachments},
    store::{self, entity::attachment::Model as Attachment, messages::Whole},
};

/// Bytes of files that are read for one conversation: more than any provider takes.
const ALL: u64 = 48_000_000;

/// Reads what was sent with prompts, the newest first where it is too much for one conversation.
pub(super) async fn read(
    engine: &Engine,
    session: SessionId,
    conversation: &[Whole],
) -> anyhow::Result<HashMap<MessageId, Vec<Attached>>> {
    let mut files: Vec<(MessageId, FilePart)> = Vec::new();
    for row in conversation.iter().flat_map(|whole| &whole.parts).filter(|row| row.kind == "file") {
        if let Part::File(file) = Part::read(&row.kind, row.data.clone())? {
            files.push((row.message_id, file));
        }
    }
    let mut all: HashMap<MessageId, Vec<Attached>> = HashMap::new();
    if files.is_empty() {
        return Ok(all);
    }
    let rows = store::attachments::of_session(&engine.db, session).await?;
    let rows: HashMap<AttachmentId, Attachment> = rows.into_iter().map(|it| (it.id, it)).collect();
    let mut left = ALL;
    for (message, file) in files.into_iter().rev() {
        let row = rows.get(&file.attachment_id);
        let attached = match left.checked_sub(file.size) {
            Some(rest) => {
                left = rest;
                one(engine, &file, row).await
            }
            None => {
                left = 0;
                let why = "there are newer files, and no room for more";
                Attached::LeftOut { name: file.name, why }
            }
        };
        all.entry(message).or_default().push(attached);
    }
    all.values_mut().for_each(|files| files.reverse());
    Ok(all)
}

/// What the model gets of one file. One that is gone or damaged does not stop the conversation.
async fn one(engine: &Engine, file: &FilePart, row: Option<&Attachment>) -> Attached {
    let gone = || Attached::LeftOut { name: file.name.clone(), why: "it cannot be read any more" };
    let Some(row) = row else { return gone() };
    let content = match attachments::content(engine, row).await {
        Ok(content) => content,
        Err(err) => {
            tracing::error!(attachment = %row.id, "reading an attachment: {err:#}");
            return gone();
        }
    };
    match file.kind {
        FileKind::Image => match file.mime.parse() {
            Ok(mime) => Attached::Image(Image { mime, data: STANDARD.encode(content).into() }),
            Err(_) => gone(),
        },
        FileKind::Text => {
            let text = String::from_utf8_lossy(&content).into_owned();
            Attached::Text { name: file.name.clone(), text }
        }
    }
}
