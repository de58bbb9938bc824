//! A run in the middle of a reply, and prompts that reach one on its way.

use std::sync::atomic::Ordering;

use anyhow::Context as _;

use super::{Decided, call::RunningCall, run::Run};
use crate::{
    domain::{
        conversation,
        message::Part,
        session::Queued,
        turn::{Effect, Order, Turn},
    },
    store::{
        asks,
        journal::Write,
        messages::{self, Whole},
    },
};

impl Run {
    /// Goes on in the middle of a reply, where an ask has outlived the server.
    pub(super) async fn resume(
        &mut self,
        turn: &mut Turn,
        open: Whole,
        decided: Decided,
    ) -> anyhow::Result<Vec<Order>> {
        anyhow::ensure!(open.message.completed_at.is_none(), "the reply was closed meanwhile");
        self.answer = open.message;
        self.next_position = open.parts.last().map_or(0, |part| part.position + 1);
        let parts: Result<Vec<Part>, _> =
            open.parts.iter().map(|row| Part::read(&row.kind, row.data.clone())).collect();
        let parts = parts?;
        let steps: Vec<&[Part]> =
            parts.split_inclusive(|part| matches!(part, Part::Step(_))).collect();
        let (last, before) = steps.split_last().context("an answer without a step")?;
        for step in before {
            let items = conversation::step_items(&mut self.ids, &self.session.model, step);
            self.request.items.extend(items);
        }
        self.step = last.iter().filter(|part| part.tool().is_none()).cloned().collect();
        let offset = parts.len() - last.len();
        self.calls = open.parts[offset..]
            .iter()
            .zip(*last)
            .filter_map(|(row, part)| Some((row.clone(), part.tool()?.clone())))
            .map(|(row, call)| RunningCall::stored(row, call))
            .collect();
        let mut waiting = Vec::new();
        for (index, call) in self.calls.iter_mut().enumerate() {
            // All others were aborted at the start of the server. Whatever else was answered since
            // is heard of next.
            call.asked = !call.call.status.is_final();
            if call.asked {
                waiting.push(index);
            }
        }
        let asked = asks::changed_since(&self.engine.db, self.session.id, 0).await?;
        for index in waiting.clone() {
            let part = self.calls[index].row.id;
            let question = asked.iter().rfind(|ask| ask.part_id == part);
            let question = question.map(|ask| serde_json::from_value(ask.data.clone()));
            self.rejudge(index, question.transpose()?.as_ref());
        }
        let effects: Vec<Effect> = self.calls.iter().map(|call| call.effect).collect();
        let mut orders = turn.resume(&effects, &waiting);
        let mut writes = Vec::new();
        orders.extend(self.hear(turn, decided, &mut writes));
        self.record(writes).await?;
        Ok(orders)
    }

    /// Takes the first prompt that waits into the conversation. `false` where none does.
    pub(super) async fn next_prompt(&mut self, kind: Queued) -> anyhow::Result<bool> {
        let _moment = self.engine.runs.moment(self.session.id).await;
        let waiting = messages::queued(&self.engine.db, self.session.id).await?;
        let mut waiting = waiting.into_iter();
        // What was meant to steer an answer that has ended is a prompt like any other.
        let Some(mut prompt) =
            waiting.find(|it| kind == Queued::Queue || it.message.queued == Some(kind))
        else {
            return Ok(false);
        };
        prompt.message.queued = None;
        prompt.message.position = self.answer.position + 1;
        self.answer = prompt.message.clone();
        self.remember(std::slice::from_ref(&prompt)).await?;
        self.record(vec![Write::Message(Box::new(prompt.message))]).await?;
        Ok(true)
    }

    /// Closes the answer so far and goes on in a new one, where a person steers.
    pub(super) async fn deliver_steering(&mut self) -> anyhow::Result<()> {
        if !self.reins.steered.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let waiting = messages::queued(&self.engine.db, self.session.id).await?;
        if !waiting.iter().any(|it| it.message.queued == Some(Queued::Steer)) {
            return Ok(());
        }
        let closed = self.close_answer(None);
        self.record(vec![closed]).await?;
        self.recorder.settle().await?;
        while self.next_prompt(Queued::Steer).await? {}
        self.begin_answer().await
    }
}
