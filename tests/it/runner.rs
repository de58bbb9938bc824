//! Whole runs of an agent against a scripted model.

use forge::domain::{
    message::{Part, Role},
    session::SessionStatus,
};
use serde_json::json;

use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
    session::folder,
};

#[actix_web::test]
async fn a_prompt_is_answered_with_tools_in_between() {
    let app = TestApp::start().await;
    let model = ScriptedModel::start().await;
    let alice = app.person("alice").await;
    let project = app.project(&alice, "atlas").await;
    app.provider(&model).await;
    let session = app.session(&alice, &project).await;
    std::fs::write(folder(&project).join("a.txt"), "one\ntwo\n").unwrap();

    model.push(Script::text("I look at it.").call("read", json!({"path": "a.txt"})));
    model.push(
        Script::new()
            .call("edit", json!({"path": "a.txt", "old_string": "two", "new_string": "three"})),
    );
    model.push(Script::text("Done: **three** it is."));
    app.prompt(&alice, &session, "Change two to three").await;
    let session = app.until(&session, SessionStatus::Idle).await;

    assert_eq!(std::fs::read_to_string(folder(&project).join("a.txt")).unwrap(), "one\nthree\n");
    assert_eq!(session.name, "Change two to three");
    let messages = app.messages(&session).await;
    assert_eq!(
        messages.iter().map(|it| it.message.role).collect::<Vec<_>>(),
        [Role::User, Role::Assistant]
    );
    let kinds: Vec<_> = messages[1].parts.iter().map(|part| part.kind.as_str()).collect();
    assert_eq!(kinds, ["text", "tool", "step", "tool", "step", "text", "step"]);
    let Part::Tool(read) = Part::read("tool", messages[1].parts[1].data.clone()).unwrap() else {
        panic!()
    };
    assert!(read.output.contains("two"), "{read:?}");
    assert_eq!(read.verdict.unwrap().action, "allow");
    assert_eq!(model.requests().len(), 3);
}
