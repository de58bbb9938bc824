//! Repositories that a command makes inside a project, with a person's git in them afterwards.

use std::{fs, path::Path, process::Command};

use super::{World, chmod};

/// Does what the bash tool does around a command, and returns what was taken away.
async fn taken(world: &World, script: &str) -> Vec<String> {
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let scan = world.snapshots.before_command(&turn.recorder, script).await.unwrap();
    world.sh(script);
    let changes = world.snapshots.after_command(scan).await.unwrap();
    changes.taken.iter().map(|it| it.path.clone()).collect()
}

/// A world with a program that leaves a mark when it runs.
async fn trap() -> (World, String) {
    let world = World::new().await;
    let (script, mark) = (world.data().join("trap"), world.data().join("mark"));
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    chmod(&script, 0o755);
    let script = script.display().to_string();
    (world, script)
}

fn went_off(world: &World) -> bool {
    let mark = world.data().join("mark");
    mark.exists() && fs::remove_file(mark).is_ok()
}

/// What a person does in a folder later. It may fail.
fn person(folder: &Path) {
    for arguments in ["status", "add -A", "-c user.name=a -c user.email=a@b commit -qm x", "diff"] {
        let mut command = Command::new("git");
        command
            .args(arguments.split(' '))
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.output().unwrap();
    }
}

#[tokio::test]
async fn ordinary_repositories_are_made_and_stay_whole() {
    let world = World::new().await;
    world.put("a", "a");
    world.commit_all();
    let made = taken(
        &world,
        "git init -q new && git -C new -c user.name=a -c user.email=a@b commit -qm x --allow-empty
         git -C new config user.name Ada && git -C new config core.autocrlf false
         git clone -q . copy && git clone -q --bare . bare.git
         git -c protocol.file.allow=always submodule --quiet add ./bare.git sub
         git worktree add -q tree && git init -q --separate-git-dir=apart linked
         git -C copy remote add other https://example.org/x.git
         git -C copy checkout -qb topic --track origin/HEAD",
    )
    .await;
    assert_eq!(made, [""; 0]);
    for folder in ["new", "copy", "sub", "tree", "linked"] {
        world.sh(&format!("git -C {folder} status && git -C {folder} config --list >/dev/null"));
    }
    assert_eq!(taken(&world, "git worktree remove --force tree; true").await, [""; 0]);
}

#[tokio::test]
async fn hooks_of_a_new_repository_are_taken_away() {
    for how in [
        "cp $TRAP n/.git/hooks/post-commit",
        "ln -s $TRAP n/.git/hooks/post-commit",
        "mkdir h; cp $TRAP h/post-commit; rm -r n/.git/hooks; ln -s ../../h n/.git/hooks",
        "cp $TRAP n/.git/hooks/post-commit; mv n m; mkdir n",
    ] {
        let (world, trap) = trap().await;
        let script = format!("TRAP={trap}; git init -q n; {how}; echo x > n/x");
        // The control: in a repository that nobody judges it does run.
        world.sh(&script);
        let folder = world.path(if how.contains("mv") { "m" } else { "n" });
        fs::write(folder.join("x"), "x").unwrap();
        person(&folder);
        assert!(went_off(&world), "{how}");
        world.sh("rm -rf n m h");
        assert_eq!(taken(&world, &script).await.len(), 1, "{how}");
        fs::write(folder.join("x"), "x").unwrap();
        person(&folder);
        assert!(!went_off(&world), "{how}");
    }
}

#[tokio::test]
async fn a_project_that_becomes_a_repository_is_judged_like_one_inside_it() {
    let (world, trap) = trap().await;
    let script = format!(
        "git init -q . && cp {trap} .git/hooks/post-commit && git config core.fsmonitor {trap}"
    );
    assert_eq!(taken(&world, &script).await, [".git/hooks/post-commit", ".git/config"]);
    world.put("x", "x");
    person(&world.root);
    assert!(!went_off(&world));
}

#[tokio::test]
async fn settings_that_name_programs_are_taken_away() {
    for setting in [
        "core.fsmonitor $TRAP",
        "core.hooksPath ../h",
        "core.sshCommand $TRAP",
        "core.pager $TRAP",
        "core.editor $TRAP",
        "filter.x.clean $TRAP",
        "diff.x.command $TRAP",
        "diff.external $TRAP",
        "alias.x !$TRAP",
        "include.path ../../h/config",
        "credential.helper $TRAP",
    ] {
        let (world, trap) = trap().await;
        let script = format!(
            "mkdir h; cp {trap} h/post-commit; git config -f h/config core.fsmonitor {trap}
             git init -q n; echo '* filter=x diff=x' > n/.gitattributes; echo x > n/x
             git -C n config {}",
            setting.replace("$TRAP", &trap)
        );
        assert_eq!(taken(&world, &script).await, ["n/.git/config"], "{setting}");
        let whole = fs::read_to_string(world.path("n/.git/config.taken-away")).unwrap();
        let key = setting.split(' ').next().unwrap();
        let mut get = Command::new("git");
        get.args(["config", "--get", key]).current_dir(world.path("n"));
        let get = get.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(whole.len() > 20 && get.stdout.is_empty(), "{setting}: {get:?}");
        person(&world.path("n"));
        assert!(!went_off(&world), "{setting}");
        // The control.
        fs::copy(world.path("n/.git/config.taken-away"), world.path("n/.git/config")).unwrap();
        world.put("n/y", "y");
        person(&world.path("n"));
        let runs = ["fsmonitor", "hooksPath", "clean", "include"];
        let expected = runs.iter().any(|it| setting.contains(it));
        assert!(!expected || went_off(&world), "{setting} does not run at all");
    }
}

#[tokio::test]
async fn ways_around_a_plain_repository_are_closed() {
    for (how, folder) in [
        ("git init -q --separate-git-dir=apart n; git -C n config core.fsmonitor $TRAP", "n"),
        (
            "git init -q x; git -C x config core.fsmonitor $TRAP; mkdir n; mv x/.git y; ln -s ../y n/.git",
            "n",
        ),
        (
            "git init -q --bare n; git -C n config core.fsmonitor $TRAP; \
             git -C n config core.bare false; git -C n config core.worktree $PWD/w; mkdir w",
            "n",
        ),
        (
            "git init -q e; git -C e config core.fsmonitor $TRAP; git init -q n; \
             echo ../../e/.git > n/.git/commondir",
            "n",
        ),
        (
            "git init -q e; git -C e config core.fsmonitor $TRAP; git worktree add -q n; \
             echo $PWD/e/.git > .git/worktrees/n/commondir",
            "n",
        ),
        (
            "git init -q n; git -C n config extensions.worktreeConfig true; \
             git -C n config --worktree core.fsmonitor $TRAP",
            "n",
        ),
        ("git init -q n; printf '[core] fsmonitor = '$TRAP'\\n' >> n/.git/config", "n"),
    ] {
        let (world, trap) = trap().await;
        world.put("a", "a");
        world.commit_all();
        let script = how.replace("$TRAP", &trap);
        world.sh(&script);
        person(&world.path(folder));
        assert!(went_off(&world), "the control: {how}");
        world.sh("git worktree prune; rm -rf n e x y w apart; git worktree prune; \
                  git branch -qD n || true; rm -rf .git/worktrees");
        assert!(!taken(&world, &script).await.is_empty(), "{how}");
        person(&world.path(folder));
        assert!(!went_off(&world), "{how}");
    }
}

#[tokio::test]
async fn a_repository_that_is_there_before_is_protected_and_not_judged() {
    let world = World::new().await;
    world.sh("git init -q n && git -C n config alias.x '!true' && touch n/.git/hooks/pre-push; \
              mkdir -p deep/er && git init -q --separate-git-dir=deep/apart deep/er/m");
    let session = world.session().await;
    let turn = world.turn(&session).await;
    let scan = world.snapshots.before_command(&turn.recorder, "").await.unwrap();
    let (protected, beyond) = scan.protected();
    assert_eq!(beyond, 0);
    for path in ["n/.git/hooks", "n/.git/config", "deep/apart/config", "deep/er/m/.git"] {
        assert!(protected.contains(&world.path(path)), "{path}: {protected:?}");
    }
    let changes = world.snapshots.after_command(scan).await.unwrap();
    assert_eq!(changes.taken, []);
    assert!(world.path("n/.git/hooks/pre-push").exists());
}
