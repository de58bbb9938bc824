//! Where a session's model is asked, and what is said when it cannot be.

use super::record::value;
use crate::{
    adapters::model::Endpoint,
    domain::{
        ids::MessageId,
        message::{Role, Tokens},
        provider::{Meta, ModelMeta},
        session::{Failure, SessionStatus},
    },
    engine::{
        Engine,
        hub::Teller,
        providers::{Providers, SWITCHED_OFF},
    },
    store::{
        self,
        entity::{message::Model as Message, session::Model as Session},
        journal::Write,
        messages,
    },
};

/// Where the session's model is asked, or why it cannot be.
pub(super) async fn endpoint(
    engine: &Engine,
    session: &Session,
) -> anyhow::Result<Result<(Endpoint, ModelMeta), Failure>> {
    let fail = |message: &str| {
        Ok(Err(Failure {
            version: 1,
            code: "provider".into(),
            message: message.into(),
            provider_message: None,
        }))
    };
    let person = store::users::find(&engine.db, session.user_id).await?;
    if person.is_none_or(|person| person.disabled_at.is_some()) {
        return fail("The account of this session's person is switched off.");
    }
    let Some(id) = session.provider_id else {
        return fail("The session's provider was removed. Choose another model, then send again.");
    };
    let found = store::providers::usable(&engine.db, session.user_id, id).await?;
    let Some(provider) = found else {
        return fail(
            "The session's provider is not there any more. Choose another model, then send again.",
        );
    };
    if provider.disabled_at.is_some() {
        return fail(
            "The session's provider is switched off. Choose another model, then send again.",
        );
    }
    let providers = Providers::of(engine);
    if !providers.permits(&provider) {
        return fail(&format!("{SWITCHED_OFF} Choose another model, then send again."));
    }
    let meta: Meta = serde_json::from_value(provider.meta.clone()).unwrap_or_default();
    let meta = meta.models.get(&session.model).cloned().unwrap_or_default();
    match providers.endpoint(&provider) {
        Ok(endpoint) => Ok(Ok((endpoint, meta))),
        Err(err) => {
            tracing::error!(provider = %provider.id, "opening a key: {err}");
            fail(
                "The provider's key cannot be opened with this server's secret. Put in the key again.",
            )
        }
    }
}

/// Answers a prompt with why it cannot be answered.
pub(super) async fn refuse(
    engine: &Engine,
    session: &Session,
    teller: &Teller,
    failure: Failure,
) -> anyhow::Result<()> {
    let now = engine.clock.now();
    let position = messages::last_position(&engine.db, session.id).await? + 1;
    let answer = Message {
        id: MessageId::mint(now, engine.entropy.as_ref()),
        session_id: session.id,
        position,
        role: Role::Assistant,
        queued: None,
        user_id: None,
        agent: session.agent.clone(),
        model: session.model.clone(),
        cost_micros: None,
        tokens: value(&Tokens::default()),
        error: Some(value(&failure)),
        seq: 0,
        reverted_at: None,
        created_at: now,
        completed_at: Some(now),
    };
    let writes = vec![Write::Message(Box::new(answer)), Write::status(SessionStatus::Error)];
    let stored = store::journal::record(&engine.db, session.id, now, writes).await?;
    teller.stored(stored);
    Ok(())
}
