//! What somebody has missed who was away: the messages that changed, or the whole timeline.

use std::collections::BTreeSet;

use super::{
    oob::{self, Message},
    painter::{Messages, Painter},
    timeline::Scene,
};
use crate::{
    domain::{ids::MessageId, message::Role},
    store::{asks, messages},
};

impl Painter {
    /// What changed on the page since a change, drawn whole where that is safer.
    pub async fn since(&mut self, scene: &mut Scene, seq: Option<i64>) -> Messages {
        let floor = scene.session.seq;
        let ids: Vec<String> = self.open.iter().map(|part| format!("part-{}", part.id)).collect();
        let mut all = vec![Message::html(oob::remove_live(&ids))];
        let touched = match seq.filter(|seq| *seq <= floor) {
            Some(seq) => self.touched(seq).await?,
            None => None,
        };
        match touched {
            Some(touched) => {
                let mut rows = Vec::with_capacity(touched.len());
                for message in touched {
                    rows.extend(messages::in_session(&self.app.db, self.session, message).await?);
                }
                rows.sort_by_key(|row| row.position);
                for row in rows {
                    let whole = messages::whole(&self.app.db, row).await?;
                    all.extend(self.article(scene, whole).await?);
                }
            }
            None => {
                all.push(Message::html(self.timeline(scene).await?));
                all.extend(self.said());
            }
        }
        let session = &scene.session;
        let mut html = self.queue(session).await?;
        if seq != Some(floor) {
            html.push_str(&oob::text("session-name", &session.name));
            html.push_str(&self.status(session).await?);
            html.push_str(&self.totals(session).await?);
            html.push_str(&self.todos().await?);
            html.push_str(&self.tray().await?);
        }
        all.push(Message { id: Some(floor), event: None, html });
        Ok(all)
    }

    /// The answers that changed since. `None` where the timeline itself did: a prompt was sent, and
    /// with it others may have gone.
    async fn touched(&self, seq: i64) -> anyhow::Result<Option<BTreeSet<MessageId>>> {
        const MOST: u64 = 500;
        let db = &self.app.db;
        let (changed, parts) = messages::changed_since(db, self.session, seq, MOST).await?;
        let prompted = changed.iter().any(|row| row.role == Role::User && row.queued.is_none());
        if prompted || (changed.len() + parts.len()) as u64 >= MOST {
            return Ok(None);
        }
        let mut touched: BTreeSet<MessageId> = changed.iter().map(|row| row.id).collect();
        touched.extend(parts.iter().map(|row| row.message_id));
        for ask in asks::changed_since(db, self.session, seq).await? {
            let part = messages::part(db, ask.part_id).await?;
            touched.extend(part.map(|part| part.message_id));
        }
        for queued in messages::queued(db, self.session).await? {
            touched.remove(&queued.message.id);
        }
        Ok(Some(touched))
    }
}
