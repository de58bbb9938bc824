//! The lists of permission rules: one for everybody, one for each project, and trying them out.

mod settle;

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use serde_json::json;
use url::Url;

use super::{
    Engine,
    refused::{Actor, Refused},
};
use crate::{
    adapters::proxy::Target,
    domain::{
        clock::Clock,
        ids::{Entropy, ProjectId, RuleId, UserId},
        permission::{self, About, Action, Call, Judgement, MCP_PREFIX, Place, RuleSet, Trust},
    },
    store::{
        Db, DbErr, audit,
        entity::{permission_rule::Model as Rule, project::Model as Project},
        rules, users,
    },
};

pub use settle::{add, replace, settle};

/// The most rules of one list.
pub const MAX_RULES: usize = 500;
/// The longest command, path or host that is tried, in characters.
pub const MAX_TRIED: usize = 4_000;

/// What it takes to change rules.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub db: &'a Db,
    pub clock: &'a dyn Clock,
    pub entropy: &'a dyn Entropy,
}

/// A rule as somebody wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    pub tool: String,
    pub pattern: String,
    pub action: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

impl<'a> Rules<'a> {
    /// The parts of an engine.
    pub fn of(engine: &'a Engine) -> Self {
        Self { db: &engine.db, clock: engine.clock.as_ref(), entropy: engine.entropy.as_ref() }
    }

    /// The list of a project, or the one for everybody, in order: the last match counts.
    pub async fn list(&self, project: Option<ProjectId>) -> Result<Vec<Rule>, DbErr> {
        rules::list(self.db, project).await
    }

    /// What holds in a project, with one query. An agent's own rules come on top.
    pub async fn set(&self, project: &Project) -> Result<RuleSet, DbErr> {
        let rows = rules::for_project(self.db, project.id).await?;
        let (own, global): (Vec<Rule>, Vec<Rule>) =
            rows.into_iter().partition(|it| it.project_id.is_some());
        Ok(RuleSet {
            global: global.iter().map(rule).collect(),
            project: own.iter().map(rule).collect(),
            agent: Vec::new(),
            trusted: project.trust_status,
        })
    }

    /// What holds for everybody, as if in a trusted project without rules of its own.
    pub async fn global_set(&self) -> Result<RuleSet, DbErr> {
        let global = rules::list(self.db, None).await?;
        let global = global.iter().map(rule).collect();
        Ok(RuleSet { global, trusted: Trust::Trusted, ..RuleSet::default() })
    }

    /// Puts a whole list in place of the present one. A rule that stays the same keeps who made it.
    async fn replace(
        &self,
        project: Option<ProjectId>,
        entered: &[Entered],
        by: &Actor,
    ) -> Result<Vec<Rule>, Refused> {
        if entered.len() > MAX_RULES {
            return Err(full());
        }
        let mut fresh = Vec::with_capacity(entered.len());
        for (number, entered) in (1..).zip(entered) {
            let rule = self.check(project, entered, by).map_err(|fields| {
                let all: Vec<_> = fields.into_values().collect();
                Refused::field("items", format!("Rule {number}: {}", all.join(" ")))
            })?;
            fresh.push(rule);
        }
        self.change(project, by, "rules.replaced", |present| Ok(kept(present, fresh))).await
    }

    /// Adds a rule at the end of its list, where it wins.
    async fn add(
        &self,
        project: Option<ProjectId>,
        entered: &Entered,
        by: &Actor,
    ) -> Result<Vec<Rule>, Refused> {
        let rule = self.check(project, entered, by).map_err(Refused::Fields)?;
        self.change(project, by, "rules.added", |mut list| {
            if list.len() >= MAX_RULES {
                return Err(full());
            }
            list.push(rule);
            Ok(list)
        })
        .await
    }

    /// Takes a rule out of its list.
    pub async fn remove(
        &self,
        project: Option<ProjectId>,
        id: RuleId,
        by: &Actor,
    ) -> Result<Vec<Rule>, Refused> {
        self.change(project, by, "rules.removed", |mut list| {
            let at = list.iter().position(|it| it.id == id).ok_or(Refused::Gone)?;
            list.remove(at);
            Ok(list)
        })
        .await
    }

    /// Moves a rule by one place. At the end of the list it stays where it is.
    pub async fn shift(
        &self,
        project: Option<ProjectId>,
        (id, way): (RuleId, Way),
        by: &Actor,
    ) -> Result<Vec<Rule>, Refused> {
        self.change(project, by, "rules.moved", |mut list| {
            let at = list.iter().position(|it| it.id == id).ok_or(Refused::Gone)?;
            match way {
                Way::Up if at > 0 => list.swap(at, at - 1),
                Way::Down if at + 1 < list.len() => list.swap(at, at + 1),
                Way::Up | Way::Down => {}
            }
            Ok(list)
        })
        .await
    }

    /// The names of those who made these rules, as far as they are still here.
    pub async fn authors(&self, list: &[Rule]) -> Result<HashMap<UserId, String>, DbErr> {
        let mut names = HashMap::new();
        for id in list.iter().filter_map(|it| it.created_by) {
            if names.contains_key(&id) {
                continue;
            }
            if let Some(user) = users::find(self.db, id).await? {
                names.insert(id, user.name);
            }
        }
        Ok(names)
    }

    fn check(
        &self,
        project: Option<ProjectId>,
        entered: &Entered,
        by: &Actor,
    ) -> Result<Rule, BTreeMap<&'static str, String>> {
        use permission::RuleError::{NoAnswerWhileRunning, NoTool, UnknownTool};
        let mut wrong = BTreeMap::new();
        let action = entered.action.trim().parse::<Action>();
        if action.is_err() {
            wrong.insert("action", "Choose allow, ask or deny.".to_owned());
        }
        let action = action.unwrap_or(Action::Ask);
        let rule = permission::Rule::parse(&entered.tool, &entered.pattern, action);
        let rule = rule.map_err(|err| {
            let field = match err {
                NoTool | UnknownTool(_) => "tool",
                NoAnswerWhileRunning => "action",
                _ => "pattern",
            };
            wrong.insert(field, err.to_string());
        });
        let (Ok(rule), true) = (rule, wrong.is_empty()) else { return Err(wrong) };
        let now = self.clock.now();
        Ok(Rule {
            id: RuleId::mint(now, self.entropy),
            project_id: project,
            tool: rule.tool,
            pattern: rule.pattern,
            action: rule.action.to_string(),
            position: 0,
            created_by: Some(by.user),
            created_at: now,
        })
    }

    async fn change(
        &self,
        project: Option<ProjectId>,
        by: &Actor,
        action: &'static str,
        change: impl FnOnce(Vec<Rule>) -> Result<Vec<Rule>, Refused>,
    ) -> Result<Vec<Rule>, Refused> {
        let mut before = Vec::new();
        let list = rules::change(self.db, project, |present| {
            before.clone_from(&present);
            change(present)
        });
        let list = list.await??;
        let words = |list: &[Rule]| list.iter().map(|it| rule(it).to_string()).collect::<Vec<_>>();
        let (old, new) = (words(&before), words(&list));
        if old != new {
            let added: Vec<_> = new.iter().filter(|it| !old.contains(it)).collect();
            let removed: Vec<_> = old.iter().filter(|it| !new.contains(it)).collect();
            let deed = audit::Deed {
                actor: Some(by.user),
                action,
                subject: match project {
                    Some(project) => ("project", Some(project.to_string())),
                    None => ("rules", None),
                },
                detail: json!({ "added": added, "removed": removed, "rules": new.len() }),
                ip: by.ip.clone(),
            };
            audit::record(self.db, self.clock, self.entropy, deed).await?;
        }
        Ok(list)
    }
}

/// The new list, in which what was there before keeps its id, its author and its date.
fn kept(mut present: Vec<Rule>, mut fresh: Vec<Rule>) -> Vec<Rule> {
    for rule in &mut fresh {
        let same = present.iter().position(|it| {
            (&it.tool, &it.pattern, &it.action) == (&rule.tool, &rule.pattern, &rule.action)
        });
        if let Some(at) = same {
            *rule = present.swap_remove(at);
        }
    }
    fresh
}

fn full() -> Refused {
    Refused::field("items", format!("A list has at most {MAX_RULES} rules. Remove some first."))
}

/// A row as the gate reads it. A word that no version knows is the strictest one.
fn rule(row: &Rule) -> permission::Rule {
    permission::Rule {
        id: Some(row.id),
        tool: row.tool.clone(),
        pattern: row.pattern.clone(),
        action: row.action.parse().unwrap_or(Action::Deny),
    }
}

/// What the gate would say to a call, without making it. `root` is the project's folder.
pub fn try_out(
    rules: &RuleSet,
    tool: &str,
    input: &str,
    (root, data_dir): (&str, &Path),
) -> Judgement {
    let data_dir = data_dir.to_string_lossy();
    let place = Place { root, home: "/home", data_dir: &data_dir };
    let host;
    let about = match tool {
        "bash" => About::Command { text: input, cwd: "." },
        "network" => {
            host = reached(input);
            About::Host { host: &host }
        }
        "web_fetch" | "web_search" => {
            host = host_of(input);
            About::Host { host: &host }
        }
        "task" | "skill" => About::Name { name: input.trim() },
        "bash_output" | "bash_kill" | "todo_write" | "question" | "memory_remember" => About::Plain,
        tool if tool.starts_with(MCP_PREFIX) => About::Plain,
        _ if input.trim().starts_with('/') => About::External { path: input.trim() },
        _ => About::Path { inside: input.trim() },
    };
    permission::judge(rules, &Call { tool, about, place })
}

/// What a command would reach, as the proxy names it: with a port where it is not one of the web's.
fn reached(input: &str) -> String {
    let input = input.trim();
    let address = if input.contains("://") { input.to_owned() } else { format!("https://{input}") };
    let url = Url::parse(&address).ok();
    let found =
        url.as_ref().and_then(|url| Some((url.host()?.to_owned(), url.port_or_known_default()?)));
    match found {
        Some((host, port)) => Target { host, port }.to_string(),
        None => input.to_lowercase(),
    }
}

/// The host of an address, or the text itself where it is none.
fn host_of(input: &str) -> String {
    let url = Url::parse(input.trim()).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or(input.trim()).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_is_judged_as_the_call_would_be() {
        let rules = RuleSet {
            project: [
                ("bash", "cargo test *", Action::Allow),
                ("edit", "src/**", Action::Deny),
                ("web_fetch", "docs.rs", Action::Allow),
                ("network", "*.crates.io", Action::Allow),
            ]
            .map(|(tool, pattern, action)| permission::Rule::parse(tool, pattern, action).unwrap())
            .to_vec(),
            trusted: Trust::Trusted,
            ..RuleSet::default()
        };
        let verdict = |tool, input| {
            try_out(&rules, tool, input, ("/srv/code/app", Path::new("/var/lib/forge"))).action
        };
        assert_eq!(verdict("bash", "cargo test limits"), Action::Allow);
        assert_eq!(
            verdict("bash", "cargo test && rm -rf /"),
            Action::Deny.min(verdict("bash", "rm -rf /"))
        );
        assert_eq!(verdict("edit", "src/main.rs"), Action::Deny);
        assert_eq!(verdict("edit", "/srv/code/app/src/main.rs"), Action::Deny);
        assert_eq!(verdict("edit", "README.md"), Action::Allow);
        assert_eq!(verdict("read", "/etc/hosts"), Action::Ask);
        assert_eq!(verdict("read", "/var/lib/forge/secret"), Action::Deny);
        assert_eq!(verdict("web_fetch", "https://Docs.rs/askama"), Action::Allow);
        assert_eq!(verdict("web_fetch", "example.org"), Action::Ask);
        assert_eq!(verdict("network", "https://Index.Crates.io/x"), Action::Allow);
        assert_eq!(verdict("network", "index.crates.io:443"), Action::Allow);
        assert_eq!(verdict("network", "index.crates.io:22"), Action::Deny);
        assert_eq!(verdict("network", "example.org"), Action::Deny);
    }
}
