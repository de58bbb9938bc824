//! Undo, redo and diffs on real folders with a real database.

mod cases;
mod commands;
mod cut_off;
mod property;
mod repositories;
mod sessions;
mod side_by_side;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use forge::{
    domain::{
        clock::{Clock, ManualClock},
        ids::{Entropy, MessageId, ProjectId, SessionId, UserId},
        message::{Role, Tokens},
        session::{SessionStatus, Summary},
        trust::Trust,
        undo::{Conflict, Force, Reason},
    },
    engine::{
        snapshots::{ChangedPath, MessageRecorder, NotCaptured, Snapshots, SnapshotsError, Undone},
        tools::{Files, Recorder as _},
    },
    store::{
        self, Db,
        entity::{
            message::Model as Message, project::Model as Project, session::Model as Session,
            user::Model as User,
        },
    },
};
use tempfile::TempDir;

#[derive(Default)]
pub struct Counting(AtomicU64);

impl Entropy for Counting {
    fn bits(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A project's folder with nothing in it, and the means to undo.
pub struct World {
    temp: TempDir,
    pub root: PathBuf,
    pub db: Db,
    pub clock: Arc<ManualClock>,
    pub entropy: Arc<Counting>,
    pub snapshots: Snapshots,
    user: UserId,
    project: ProjectId,
    position: AtomicI64,
}

/// One file: its mode, and its content or target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File(u32, Vec<u8>),
    Link(PathBuf),
    Folder(u32),
}

pub type Picture = BTreeMap<Vec<u8>, Entry>;

impl World {
    pub async fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let data = temp.path().join("data");
        let db = Db::open(&format!("sqlite:{}", data.join("forge.db").display())).await.unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-01T09:00:00Z".parse().unwrap()));
        let entropy = Arc::new(Counting::default());
        let snapshots =
            Snapshots::new(db.clone(), clock.clone(), entropy.clone(), &data, Files::default());
        let now = clock.now();
        let user = User {
            id: UserId::mint(now, &*entropy),
            name: "Alice".into(),
            login: "alice".into(),
            login_key: "alice".into(),
            email: None,
            email_key: None,
            password_hash: String::new(),
            admin: false,
            disabled_at: None,
            time_zone: None,
            kept_windows: None,
            last_login_at: None,
            created_at: now,
            updated_at: now,
        };
        let user = store::users::create(&db, user).await.unwrap().unwrap();
        let project = Project {
            id: ProjectId::mint(now, &*entropy),
            owner_id: user.id,
            name: "project".into(),
            path: root.display().to_string(),
            default_branch: None,
            instructions: serde_json::json!([]),
            trust_status: Trust::Untrusted,
            created_at: now,
            updated_at: now,
            opened_at: None,
        };
        let project = store::projects::create(&db, project).await.unwrap();
        Self {
            temp,
            root,
            db,
            clock,
            entropy,
            snapshots,
            user: user.id,
            project: project.id,
            position: AtomicI64::new(0),
        }
    }

    /// The server is killed and started again.
    pub fn restart(&mut self) {
        self.snapshots = start(&self.db, &self.clock, &self.entropy, &self.data());
    }

    pub fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    pub async fn session(&self) -> Session {
        let now = self.clock.now();
        let session = Session {
            id: SessionId::mint(now, &*self.entropy),
            project_id: self.project,
            user_id: self.user,
            name: String::new(),
            agent: "build".into(),
            provider_id: None,
            model: String::new(),
            effort: None,
            temperature: None,
            status: SessionStatus::Idle,
            max_steps: 50,
            parent_id: None,
            seq: 0,
            summary: serde_json::to_value(Summary { version: 1, ..Summary::default() }).unwrap(),
            archived_at: None,
            created_at: now,
            updated_at: now,
        };
        store::sessions::create(self.db.write(), session).await.unwrap()
    }

    pub async fn message(&self, session: &Session, role: Role) -> Message {
        let now = self.clock.now();
        let message = Message {
            id: MessageId::mint(now, &*self.entropy),
            session_id: session.id,
            position: self.position.fetch_add(1, Ordering::Relaxed) + 1,
            role,
            queued: None,
            user_id: None,
            agent: "build".into(),
            model: String::new(),
            cost_micros: None,
            tokens: serde_json::to_value(Tokens::default()).unwrap(),
            error: None,
            seq: 0,
            reverted_at: None,
            created_at: now,
            completed_at: None,
        };
        let write = store::journal::Write::Message(Box::new(message.clone()));
        store::journal::record(&self.db, session.id, now, vec![write]).await.unwrap();
        message
    }

    /// A prompt, and the answer to it that is about to change things.
    pub async fn turn<'a>(&'a self, session: &'a Session) -> Turn<'a> {
        let prompt = self.message(session, Role::User).await;
        let answer = self.message(session, Role::Assistant).await;
        let recorder = self.snapshots.recorder(&self.root, session.id, answer.id);
        Turn { world: self, session, prompt, answer, recorder }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.root).unwrap().as_os_str().as_bytes().to_vec();
                if name == b".git" {
                    continue;
                }
                let meta = fs::symlink_metadata(&path).unwrap();
                let mode = meta.mode() & 0o7777;
                let entry = if meta.is_symlink() {
                    Entry::Link(fs::read_link(&path).unwrap())
                } else if meta.is_dir() {
                    folders.push(path);
                    Entry::Folder(mode)
                } else {
                    Entry::File(mode, fs::read(&path).unwrap())
                };
                picture.insert(name, entry);
            }
        }
        picture
    }

    pub fn sh(&self, script: &str) {
        run(&self.root, script);
    }

    /// Makes the folder a repository with everything in it committed.
    pub fn commit_all(&self) {
        self.sh("git init -q . && git add -A && git -c user.name=a -c user.email=a@example.org \
                 commit -qm x --allow-empty");
    }

    pub async fn undo(&self, session: &Session, from: &Message, force: Force) -> Undone {
        self.snapshots.undo(session, &self.root, from, force).await.unwrap()
    }

    pub async fn redo(&self, session: &Session, force: Force) -> Undone {
        self.snapshots.redo(session, &self.root, force).await.unwrap()
    }
}

fn start(db: &Db, clock: &Arc<ManualClock>, entropy: &Arc<Counting>, data: &Path) -> Snapshots {
    Snapshots::new(db.clone(), clock.clone(), entropy.clone(), data, Files::default())
}

fn run(folder: &Path, script: &str) {
    let mut command = Command::new("sh");
    command.arg("-ec").arg(script).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

/// An answer in the making.
pub struct Turn<'a> {
    pub world: &'a World,
    pub session: &'a Session,
    pub prompt: Message,
    pub answer: Message,
    pub recorder: MessageRecorder,
}

impl Turn<'_> {
    /// Does what a tool does around a change of a file.
    pub async fn tool(&self, path: &str, change: impl FnOnce(&Path)) {
        self.recorder.before_change(path).await.unwrap();
        change(&self.world.path(path));
        self.recorder.settle().await.unwrap();
    }

    pub async fn write(&self, path: &str, content: &str) {
        self.tool(path, |_| self.world.put(path, content)).await;
    }

    /// Does what the bash tool does around a command.
    pub async fn command(&self, script: &str) -> Vec<ChangedPath> {
        self.captured(script).await.0
    }

    pub async fn captured(&self, script: &str) -> (Vec<ChangedPath>, NotCaptured) {
        let scan = self.world.snapshots.before_command(&self.recorder, script).await.unwrap();
        let not_captured = scan.not_captured.clone();
        self.world.sh(script);
        (self.world.snapshots.after_command(scan).await.unwrap().changed, not_captured)
    }

    pub async fn end(&self) {
        let snapshots = &self.world.snapshots;
        snapshots.finish_message(self.session.id, self.answer.id, &self.world.root).await.unwrap();
    }
}

pub fn paths(changed: &[ChangedPath]) -> Vec<&str> {
    changed.iter().map(|it| it.path.as_str()).collect()
}

pub fn reasons(conflicts: &[Conflict]) -> Vec<(&str, Reason)> {
    conflicts.iter().map(|it| (it.path.as_str(), it.reason)).collect()
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A clean end of a test that undid everything: the same picture, also after redo and undo.
pub async fn round_trip(turn: &Turn<'_>, before: &Picture) {
    let (world, session) = (turn.world, turn.session);
    turn.end().await;
    let changed = world.picture();
    let undone = world.undo(session, &turn.prompt, Force::Ask).await;
    assert_eq!(undone.conflicts, []);
    assert_eq!(undone.reverted, [turn.prompt.id, turn.answer.id]);
    assert_eq!(&world.picture(), before);
    let redone = world.redo(session, Force::Ask).await;
    assert_eq!(redone.conflicts, []);
    assert_eq!(world.picture(), changed);
    world.undo(session, &turn.prompt, Force::Ask).await;
    assert_eq!(&world.picture(), before);
}

pub fn is_running(error: &SnapshotsError) -> bool {
    matches!(error, SnapshotsError::Running)
}
