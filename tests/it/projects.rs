//! Projects: how they are added, shown, trusted and removed.

mod adding;
mod api;
mod files;
mod pages;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use forge::{
    domain::ids::ProjectId,
    store::{self, OwnedRow as _, entity::project::Model as Project},
};

use crate::support::{Answer, Person, TestApp};

/// A folder below the root, with some files in it.
fn folder(app: &TestApp, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = app.folder.path().join("roots").join(name);
    fs::create_dir_all(&path).unwrap();
    for (file, text) in files {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    path.canonicalize().unwrap()
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The same folder as a repository with one commit.
fn repository(app: &TestApp, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = folder(app, name, files);
    git(&path, &["init", "--quiet"]);
    git(&path, &["add", "--all"]);
    git(&path, &["commit", "--quiet", "--message", "The <first> commit"]);
    path
}

async fn post_folder(person: &Person, path: &Path) -> Answer {
    let path = path.to_str().unwrap();
    person.post("/projects", &[("from", "folder"), ("path", path), ("name", "")]).await
}

/// Adds a folder and finds the project that it became.
async fn add(app: &TestApp, person: &Person, path: &Path) -> Project {
    let answer = post_folder(person, path).await;
    added(app, person, &answer).await
}

/// The project that an answer leads to.
async fn added(app: &TestApp, person: &Person, answer: &Answer) -> Project {
    assert_eq!(answer.status.as_u16(), 303, "{}", answer.body);
    let location = answer.headers["location"].to_str().unwrap();
    find(app, person, location.strip_prefix("/projects/").unwrap()).await.unwrap()
}

async fn find(app: &TestApp, person: &Person, id: &str) -> Option<Project> {
    let id: ProjectId = id.parse().unwrap();
    Project::find_owned(&app.app.db, person.user.id, id).await.unwrap()
}

/// How many projects a person has.
async fn count(app: &TestApp, person: &Person) -> usize {
    store::projects::of(&app.app.db, person.user.id).await.unwrap().len()
}

/// Asks for a page until it is as it should become.
async fn until(
    what: &str,
    person: &Person,
    path: &str,
    mut is_so: impl FnMut(&Answer) -> bool,
) -> Answer {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = person.get(path).await;
        if is_so(&answer) {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}: {}", answer.body);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
