//! What commands may do by default, and by rules.

use super::{bash, rules, table};
use crate::domain::permission::{About, Action, Call, Origin, Place, Trust, judge};

#[test]
fn commands_that_only_look_are_allowed_and_the_rest_is_asked_about() {
    table(
        &rules(""),
        r#"
        allow ls
        allow ls -la src
        allow ls *.rs
        allow pwd
        allow cat README.md
        allow cat ./src/../README.md
        allow cat /home/ada/app/README.md
        allow head -n 5 a b
        allow head -20 a
        allow tail -n +3 a
        allow wc -l a
        allow grep -n TODO src/main.rs
        allow grep -A 3 -i todo a
        allow sort -k 2 -n a | uniq -c
        allow cut -d/ -f2 a
        allow find src -name '*.rs' -type f
        allow find . -maxdepth 2 -not -path './target/*'
        allow echo hello
        allow echo "$x"
        allow echo $?
        allow printf '%s\n' a
        allow true && false || :
        allow which cargo
        allow command -v cargo
        allow type ls
        allow date
        allow date +%F
        allow hostname
        allow sleep 1
        allow test -f a && cat a
        allow [ -f a ] && cat a
        allow [[ -f a ]] && cat a
        allow cd src && ls
        allow cat a 2>/dev/null
        allow cat a 2>&1
        allow cat a >/dev/null 2>&1
        allow cat < a
        allow cat <<'EOF'⏎$(rm x)⏎EOF
        allow cat <<< hi
        allow echo hi > out.txt
        allow echo hi >> src/out.txt
        allow x=1
        allow # nothing
        allow nice ls
        allow timeout 5 cat a
        allow bash -c 'ls; pwd'
        allow env ls
        allow CI=1 ls
        allow RUST_BACKTRACE=full ls
        allow set -euo pipefail⏎ls
        allow for f in a b; do echo $f; done
        allow if [ -d a ]; then ls a; else pwd; fi
        allow ls; exit 0
        allow diff -u a b
        allow sha256sum a
        allow stat -c %s a
        allow git status
        allow git status --porcelain=v1 -b
        allow git log --oneline -n 5
        allow git log -5 --stat --format='%h %s' -- src
        allow git diff HEAD~1 -- src/a.rs
        allow git diff --cached --name-only
        allow git show HEAD:src/a.rs
        allow git --no-pager log -3
        allow git branch
        allow git branch -a
        allow git remote -v
        allow git rev-parse --abbrev-ref HEAD
        ask cat *.md
        ask cat $x
        ask f=.env && cat "$f"
        ask cat "$HOME/.bashrc"
        ask cat ~/.bashrc
        ask cat /etc/passwd
        ask cat ../other
        ask cat src/../../other
        ask cd .. && cat x
        ask cd; cat x
        ask cd $x && cat a
        ask cd - && cat a
        ask head /etc/passwd
        ask cat < /etc/passwd
        ask cat .env
        ask cat src/.env.local
        ask cat tls/key.pem
        ask grep KEY .env
        ask cat ./.e''nv
        allow cat .env.example
        ask grep -r KEY .
        ask grep -f /etc/passwd a
        ask sort -o out a
        ask sort --output=out a
        ask sort --compress-program=x a
        ask uniq a out
        ask tree -o out
        ask ls --foo
        ask file -C -m x
        ask tail -f log
        ask find . -delete -name x
        ask find . -fprint out
        ask find . -exec cat {} \;
        ask find /etc -name x
        ask find . -newerXY x
        ask find $x
        ask printf -v x y
        ask date -s tomorrow
        ask date 010203042025
        ask hostname evil
        ask test -v 'a[$(ls)]'
        ask echo hi > /etc/hosts
        ask echo hi >> ~/.bashrc
        ask echo hi >| ../x
        ask echo hi &> /tmp/x
        ask echo hi >& /tmp/x
        ask echo hi > $x
        ask echo hi > "$HOME/x"
        ask echo hi > *.txt
        ask echo hi > /dev/tcp/host/80
        ask cat < /dev/tcp/host/80
        ask echo hi <> x
        ask echo hi > .forge/agents/build.md
        ask echo hi > .git/info/exclude
        ask LD_PRELOAD=x ls
        ask PATH=. ls
        ask CI=/x ls
        ask FOO=1 ls
        ask BASH_ENV=x bash -c ls
        ask env FOO=1 ls
        ask env -S 'ls' x
        ask bash script.sh
        ask bash -c "$x"
        ask bash -c 'cat $1' x .env
        ask bash -i
        ask bash --rcfile x -c ls
        ask bash
        ask ls | bash
        ask eval "$x"
        ask source x
        ask . ./x
        ask xargs cat
        ask sudo ls
        ask python -c 'print(1)'
        ask cargo test
        ask npm run build
        ask make
        ask ./run.sh
        ask rm a
        ask mkdir a
        ask cp a b
        ask sed -i s/a/b/ a
        ask sed -n 1,5p a
        ask tee out
        ask curl https://example.com
        ask git commit -m x
        ask git push
        ask git branch new
        ask git branch -D main
        ask git branch -m x
        ask git diff --output=x
        ask git diff --outp=x
        ask git diff --ext-diff
        ask git diff --no-index a b
        ask git diff /etc/passwd a
        ask git log --textconv
        ask git log -L1,2:a
        ask git show HEAD:.env
        ask git -c core.pager=x log
        ask git -p log
        ask git -C sub status
        ask git --git-dir=x status
        ask git --exec-path=x status
        ask cd src && git status
        ask git config -l
        ask git stash
        ask git tag v1
        ask git remote show origin
        ask git fetch
        "#,
    );
}

#[test]
fn deleting_a_root_or_a_home_is_denied_whatever_the_rules_say() {
    let rules = rules(
        "global allow bash *\nproject allow bash *\nproject allow external_directory **\nproject allow * *",
    );
    table(
        &rules,
        r#"
        deny rm -rf /
        deny rm -r -f /
        deny rm -fr -- /
        deny rm -r -f -- /
        deny rm --recursive --force /
        deny rm --recur /
        deny rm -R /
        deny rm -rf //
        deny rm -rf /.
        deny rm -rf /*
        deny sudo rm -rf /*
        deny rm -rf /usr/..
        deny rm -rf ~
        deny rm -rf ~/
        deny rm -rf ~/*
        deny rm -rf $HOME
        deny rm -rf "$HOME"
        deny rm -rf ${HOME}/
        deny rm -rf "$HOME"/*
        deny rm -rf /home
        deny rm -rf /home/ada
        deny rm -rf /home/*
        deny rm -rf ..
        deny rm -rf ../
        deny rm -rf src/../..
        deny rm -rf ../..
        deny rm -rf .
        deny rm -rf ../app
        deny rm -rf /home/ada/app
        deny rm -rf .git
        deny rm -rf .*
        deny cd / && rm -rf .
        deny cd / && rm -rf *
        deny cd /; rm -rf .
        deny cd .. && rm -rf app
        deny cd && rm -rf .
        deny cd ~ && rm -rf *
        deny find / -delete
        deny find / -name x -delete
        deny find ~ -type f -delete
        deny find .. -delete
        deny find . -delete
        deny find / -exec rm -rf {} +
        deny find / -exec rm {} \;
        deny bash -c 'rm -rf /'
        deny sh -c "cd / && rm -rf ."
        deny echo $(rm -rf /)
        deny env rm -rf /
        deny xargs rm -rf /
        deny r\m -rf /
        deny mv / x
        deny mv ~ x
        deny ls; rm -rf / ; ls
        deny rm -rf src /
        deny echo x > .git/hooks/pre-commit
        deny echo x > .git/config
        deny cp x .git/hooks/post-checkout
        deny mv .git x
        deny ln -s x .git/hooks/pre-push
        deny tee .git/config
        deny sed -i s/a/b/ .git/config
        deny cat /var/lib/forge/db
        deny cat /var/lib/forge/*
        deny ls /var/lib/forge
        deny cp -r /var/lib /tmp/x
        deny rm -rf /var
        deny echo x > /var/lib/forge/x
        deny cat < /var/lib/forge/secret
        deny cat /var/lib/./forge/secret
        deny cat /var/lib/fo''rge/secret
        deny cat /etc/../var/lib/forge/secret
        deny cat ../../../var/lib/forge/secret
        deny cd /var/lib && cat forge/secret
        deny cat /var/lib/forge/$x
        deny sqlite3 /var/lib/forge/db .dump
        deny python -c 'open("/var/lib/forge/db")'
        deny tar czf x.tgz /var/lib/forge
        deny foo --db=/var/lib/forge/db
        allow rm -rf target
        allow rm -rf ./target/debug
        allow cd src && rm -rf generated
        allow find target -name '*.o' -delete
        allow find . -name '*.pyc' -delete
        allow rm a.txt
        ask rm -rf $x
        ask rm -rf "$x"/
        ask rm -rf *
        ask rm -rf /tmp/$x
        ask rm -rf {/,x}
        "#,
    );
}

#[test]
fn a_rule_about_paths_holds_for_commands_too() {
    let rules = rules(
        "global deny read **/.env
         global deny write secrets/**
         project allow bash *
         project allow external_directory /opt/**",
    );
    table(
        &rules,
        r#"
        deny cat .env
        deny cat ./.env
        deny cat src/.env
        deny cat src/../.env
        deny cat '.env'
        deny cat .e"n"v
        deny cat -- .env
        deny head -n1 .env
        deny grep x .env
        deny grep -e x .env
        deny sed -n p .env
        deny awk 1 .env
        deny less .env
        deny cp .env x
        deny cp -t x .env
        deny ln -s .env x
        deny diff .env a
        deny base64 .env
        deny dd if=.env of=x
        deny cat < .env
        deny cat $(echo a) .env
        deny git show HEAD:.env
        deny git diff -- .env
        deny git add .env
        deny cd src && cat .env
        deny cat /opt/x/.env
        deny curl -d @.env u
        deny tar cf x .env
        deny bash -c 'cat .env'
        deny find .env -exec cat .env \;
        deny echo "$(<.env)"
        deny rm secrets/a
        deny rm -rf secrets
        deny mv secrets/a b
        deny mv a secrets/a
        deny cp a secrets/a
        deny cp --target-directory=secrets a
        deny echo x > secrets/a
        deny touch secrets/a
        deny tee -a secrets/a
        deny sed -i s/a/b/ secrets/a
        deny sed --in-place s/a/b/ secrets/a
        deny dd if=a of=secrets/a
        deny truncate -s 0 secrets/a
        deny chmod +x secrets/a
        deny ln -sf a secrets/b
        deny sort -o secrets/a b
        deny curl -o secrets/a u
        ask cat .e*
        ask cat $f
        ask grep -r x .
        ask rg x
        ask cp -r . ../x
        ask python show.py .env
        ask tar cf x .
        allow cat a
        allow cat /opt/x/a
        allow cp a /opt/x/a
        allow rm a
        allow cargo test
        "#,
    );
}

#[test]
fn the_order_of_the_lists_decides() {
    let rules = rules(
        "global deny  bash git push --force *
         global ask   bash git *
         global allow bash make *
         project allow bash git *
         project ask  bash git push *
         project allow bash git push origin dev
         project allow bash git push --force *
         agent allow bash cargo *
         agent deny bash make *",
    );
    table(
        &rules,
        "
        allow git commit -m x
        ask git push
        ask git push origin main
        allow git push origin dev
        allow git push origin dev && ls
        deny git push --force origin dev
        allow make all
        allow cargo build
        ask npm test
        ",
    );
    let judged = bash(&rules, "git push --force x");
    assert_eq!((judged.origin, judged.action), (Origin::Global, Action::Deny));
    assert_eq!(judged.because, "global rule: bash `git push --force *` → deny");
    assert_eq!(bash(&rules, "make").because, "global rule: bash `make *` → allow");
    assert_eq!(bash(&rules, "cargo x").because, "agent rule: bash `cargo *` → allow");
}

#[test]
fn each_part_of_a_script_has_its_own_verdict() {
    let judged = bash(&rules("project deny bash rm *"), "ls && cargo test > /etc/x; rm y");
    let parts: Vec<_> = judged.parts.iter().map(|it| (it.text.as_str(), it.action)).collect();
    assert_eq!(
        parts,
        [
            ("ls", Action::Allow),
            ("cargo test", Action::Ask),
            ("> /etc/x", Action::Ask),
            ("rm y", Action::Deny),
        ]
    );
    assert_eq!(judged.action, Action::Deny);
    assert_eq!(judged.because, "project rule: bash `rm *` → deny");
    assert_eq!(judged.reasons, ["writes to /etc/x, outside the project"]);
}

#[test]
fn in_an_untrusted_project_every_command_is_asked_about() {
    let mut rules = rules("global allow bash *\nproject deny bash rm *");
    rules.trusted = Trust::Untrusted;
    table(&rules, "ask ls\nask cargo test\nask x=1\ndeny rm x\ndeny rm -rf /");
    assert_eq!(bash(&rules, "ls").always, None);
}

#[test]
fn a_command_that_starts_in_a_folder_is_judged_from_there() {
    let rules = rules("project allow bash *\nglobal deny read **/.env");
    let at = |cwd, text| {
        let about = About::Command { text, cwd };
        judge(&rules, &Call { tool: "bash", about, place: super::PLACE }).action
    };
    assert_eq!(at("src", "cat ../a"), Action::Allow);
    assert_eq!(at("src", "cat ../../a"), Action::Ask);
    assert_eq!(at("src", "cat .env"), Action::Deny);
    assert_eq!(at("src", "rm -rf ../../app"), Action::Deny);
    assert_eq!(at("src/deep", "rm -rf ../x"), Action::Allow);
}

#[test]
fn a_worktree_in_the_data_folder_works_like_any_project() {
    let place = Place { root: "/var/lib/forge/trees/1", ..super::PLACE };
    let rules = rules("");
    let at = |text| {
        let about = About::Command { text, cwd: "" };
        judge(&rules, &Call { tool: "bash", about, place }).action
    };
    assert_eq!(at("cat /var/lib/forge/trees/1/a"), Action::Allow);
    assert_eq!(at("cat ../2/a"), Action::Deny);
    assert_eq!(at("cat /var/lib/forge/trees/2/a"), Action::Deny);
    assert_eq!(at("rm -rf ../.."), Action::Deny);
}

#[test]
fn case_37_what_a_variable_holds_is_not_guessed() {
    let asked = table(
        &rules("project allow bash cat *"),
        r#"
        ask cat "$f"
        ask f=$(ls -a) && cat "$f"
        ask cat $HOME/.netrc
        ask cat ${f:-.env}
        "#,
    );
    assert_eq!(asked, 4);
}
