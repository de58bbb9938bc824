//! What the templates of a session's timeline draw. All of it is made of stored rows.

use super::words::Moment;

/// A message.
pub enum Article {
    Prompt(PromptView),
    Answer(AnswerView),
}

impl Article {
    /// The id of its element.
    pub fn id(&self) -> &str {
        match self {
            Self::Prompt(it) => &it.id,
            Self::Answer(it) => &it.id,
        }
    }
}

pub struct PromptView {
    pub id: String,
    pub session: String,
    pub name: String,
    pub initials: String,
    pub at: Moment,
    pub html: String,
    pub files: Vec<FileView>,
    pub undone: bool,
}

/// A file that was sent with a prompt.
pub struct FileView {
    pub id: String,
    pub name: String,
    pub size: String,
    pub image: bool,
}

pub struct AnswerView {
    pub id: String,
    pub status: &'static str,
    pub agent: String,
    pub model: String,
    pub parts: Vec<PartView>,
    pub ending: Option<Ending>,
    pub undone: bool,
}

/// How an answer ended that did not end well.
pub enum Ending {
    /// Somebody or something stopped it; it can go on.
    Stopped(String),
    Failed(FailureView),
}

pub struct FailureView {
    pub id: String,
    pub title: String,
    pub advice: String,
    pub said: Option<String>,
    /// Whether a look at the providers helps.
    pub provider: bool,
}

pub struct PartView {
    pub id: String,
    pub status: &'static str,
    /// Whether it is still being streamed, and not stored yet.
    pub live: bool,
    pub body: Body,
}

pub enum Body {
    Prose(String),
    Reason(String),
    Tool(Box<ToolView>),
    Ask(Box<AskView>),
    Patch(Vec<PatchLine>),
    /// What a step took and cost, in pieces.
    Step(Vec<String>),
    /// A part that this Forge cannot read.
    Unreadable(String),
}

pub struct PatchLine {
    pub path: String,
    pub additions: u32,
    pub deletions: u32,
}

/// A tool call: verb, subject, outcome, time; and what it opens to.
#[derive(Default)]
pub struct ToolView {
    pub icon: &'static str,
    pub verb: String,
    pub subject: String,
    pub meta: Option<String>,
    /// A word that says that it went wrong.
    pub chip: Option<String>,
    pub delta: Option<(u32, u32)>,
    pub took: Option<String>,
    /// Since when it runs.
    pub since: Option<String>,
    pub open: bool,
    pub content: Content,
    pub notes: Vec<String>,
    pub error: Option<String>,
    pub why: Option<Why>,
    /// It goes on in the background, and can be stopped.
    pub stoppable: bool,
}

impl ToolView {
    /// Whether there is something to open.
    pub fn folds(&self) -> bool {
        !matches!(self.content, Content::Nothing)
            || self.error.is_some()
            || self.why.is_some()
            || !self.notes.is_empty()
    }
}

#[derive(Default)]
pub enum Content {
    #[default]
    Nothing,
    Matches(Vec<Match>),
    Diff(DiffView),
    /// What one call changed in several files.
    Files(Vec<ChangedFile>),
    Term(Term),
    Todos(Vec<TodoView>),
    Output(Shown),
}

/// A file that a patch changed.
pub struct ChangedFile {
    pub verb: &'static str,
    pub path: String,
    /// Where it was before, if it was moved.
    pub from: Option<String>,
    pub delta: (u32, u32),
    pub diff: DiffView,
}

/// A line that was found: where, and the line with what matched.
pub struct Match {
    pub place: String,
    /// Pieces, and whether each is what was looked for.
    pub pieces: Vec<(bool, String)>,
}

pub struct Term {
    pub command: String,
    pub shown: Shown,
    /// What it says while it runs is shown in the element with this id.
    pub said: Option<String>,
}

/// A text as far as a page shows it.
#[derive(Default)]
pub struct Shown {
    pub text: String,
    /// `20 of 148 lines`, where it is not all.
    pub of: Option<String>,
    /// The part whose whole output can be looked at.
    pub whole: Option<String>,
}

pub struct TodoView {
    pub status: &'static str,
    pub icon: &'static str,
    pub text: String,
}

/// What allowed or refused a call.
pub struct Why {
    pub verb: &'static str,
    pub by: Option<String>,
    pub rule: String,
}

/// A question to the person.
pub struct AskView {
    pub id: String,
    pub title: &'static str,
    /// What stands in the box: `Command`, `Path`.
    pub what: &'static str,
    pub subject: String,
    pub at: Moment,
    pub because: String,
    pub reasons: Vec<String>,
    /// What the call would change, file by file.
    pub changes: Vec<DiffView>,
    pub always: Option<Always>,
}

/// The rule that "always" would save.
pub struct Always {
    pub label: &'static str,
    pub project: String,
    pub pattern: String,
    /// Further rules that are saved with it.
    pub also: Vec<String>,
}

/// What changed in a file, in lines.
#[derive(Default)]
pub struct DiffView {
    pub path: String,
    /// Where the page of all changes shows it.
    pub anchor: String,
    pub hunks: Vec<HunkView>,
    /// What is not shown.
    pub omitted: Option<String>,
    pub binary: bool,
}

pub struct HunkView {
    pub head: String,
    pub rows: Vec<RowView>,
}

pub struct RowView {
    /// `add`, `del` or nothing.
    pub class: &'static str,
    pub old: Option<u32>,
    pub new: Option<u32>,
    /// Pieces, and whether each is what changed in the line.
    pub pieces: Vec<(bool, String)>,
}
