//! Ways around a rule that people have found, in the field and here.

use super::{bash, rules, table};
use crate::domain::permission::{Action, judge};

/// The thirteen that a well-known agent let through with read-only commands allowed.
const REPORTED: &str = r"
    ask echo hi⏎rm x
    ask echo a > ~/.bashrc
    ask echo hi & rm x
    ask ls <(rm x)
    ask env rm x
    ask nohup curl u
    ask git branch -D main
    ask git tag -d v1
    ask git remote set-url origin u
    ask env LD_PRELOAD=/tmp/x ls
    ask date -us
    ask git log --textconv -p
    ask hostname -F/etc/x
";

#[test]
fn case_35_what_slipped_through_elsewhere_is_asked_about() {
    assert_eq!(table(&rules(""), REPORTED), 13);
    let generous = rules(
        "project allow bash ls *
         project allow bash echo *
         project allow bash env *
         project allow bash nohup *
         project allow bash git log *
         project allow bash git status *
         project allow bash git remote
         project allow bash date
         project allow bash hostname *",
    );
    assert_eq!(table(&generous, REPORTED), 13);
}

#[test]
fn case_34_an_allowed_command_allows_nothing_beside_it() {
    let rules = rules("project allow bash git status *");
    table(
        &rules,
        r#"
        allow git status
        allow git status -s
        allow git status && git status
        ask   git status && rm -rf x
        ask   git status; rm x
        ask   git status | sh
        ask   git status || rm x
        ask   git status $(rm x)
        ask   git status `rm x`
        ask   git status "$(rm x)"
        ask   git status "`rm x`"
        ask   git status <(rm x)
        ask   git status > >(rm x)
        ask   git status <<< "$(rm x)"
        ask   git status⏎rm x
        ask   git status &⏎rm x
        ask   (git status; rm x)
        ask   { git status; rm x; }
        ask   if git status; then rm x; fi
        ask   while git status; do rm x; done
        ask   for f in $(rm x); do git status; done
        ask   case $(rm x) in *) git status;; esac
        ask   case a in a) rm x;; esac
        ask   f() { rm x; }; git status
        ask   git status <<EOF⏎$(rm x)⏎EOF
        ask   git status <<EOF⏎`rm x`⏎EOF
        ask   git status <<'EOF' && rm x⏎a⏎EOF
        ask   git status <<EOF | sh⏎a⏎EOF
        ask   x=$(rm x) git status
        ask   x=$(rm x)
        ask   export y=$(rm x)
        ask   [ -n "$(rm x)" ] && git status
        ask   [[ -n $(rm x) ]] && git status
        ask   echo $((1 + $(rm x)))
        ask   echo ${y:-$(rm x)}
        ask   echo ${y:-`rm x`}
        ask   a[$(rm x)]=1
        ask   git status # comment⏎rm x
        ask   git status #'⏎rm x #'
        ask   /tmp/git status
        ask   ./git status
        ask   GIT_SSH_COMMAND=x git status
        ask   git -c core.fsmonitor=x status
        ask   git status >/tmp/x
        ask   git statusx
        ask   ! rm x
        ask   time rm x
        ask   coproc rm x
        ask   git status $x
        "#,
    );
}

#[test]
fn a_denied_command_is_denied_however_it_is_written() {
    let rules = rules(
        "global deny bash rm *
         global deny bash *curl*
         project allow bash *",
    );
    table(
        &rules,
        r#"
        deny rm x
        deny rm
        deny  rm   x
        deny r\m x
        deny 'rm' x
        deny "rm" x
        deny r"m" x
        deny r''m x
        deny ''rm x
        deny $'rm' x
        deny $'\x72m' x
        deny $'\162\155' x
        deny \rm x
        deny r\⏎m x
        deny rm\⏎ x
        deny /bin/rm x
        deny /usr/bin/../bin/rm x
        deny ls; rm x
        deny ls && rm x
        deny ls || rm x
        deny ls | rm x
        deny ls |& rm x
        deny ls & rm x
        deny ls⏎rm x
        deny (rm x)
        deny { rm x; }
        deny ! rm x
        deny echo $(rm x)
        deny echo "$(rm x)"
        deny echo "`rm x`"
        deny echo $(echo $(rm x))
        deny cat <(rm x)
        deny ls > >(rm x)
        deny cat <<EOF⏎$(rm x)⏎EOF
        deny cat <<-EOF⏎	$(rm x)⏎	EOF
        deny cat <<EOF; rm x⏎a⏎EOF
        deny if true; then rm x; fi
        deny if rm x; then true; fi
        deny if true; then true; elif rm x; then true; fi
        deny if true; then true; else rm x; fi
        deny for f in a; do rm x; done
        deny while rm x; do true; done
        deny until false; do rm x; done
        deny case a in b) rm x;; esac
        deny select f in a; do rm x; done
        deny f() { rm x; }; f
        deny function f { rm x; }
        deny f() ( rm x )
        deny sh -c 'rm x'
        deny bash -c "rm x"
        deny bash -lc 'ls; rm x'
        deny bash -euo pipefail -c 'rm x'
        deny bash -c -e 'rm x'
        deny /bin/sh -c 'rm x'
        deny sh -c 'sh -c "rm x"'
        deny eval 'rm x'
        deny eval rm x
        deny eval "ls;" rm x
        deny env rm x
        deny env -i rm x
        deny env -u PATH rm x
        deny env A=1 B=2 rm x
        deny /usr/bin/env rm x
        deny nohup rm x
        deny nice rm x
        deny nice -n 5 rm x
        deny nice -5 rm x
        deny nice --adjustment=5 rm x
        deny time rm x
        deny time -p rm x
        deny timeout 5 rm x
        deny timeout -k 5 10 rm x
        deny timeout --signal=KILL 10s rm x
        deny stdbuf -oL rm x
        deny setsid -f rm x
        deny ionice -c 3 rm x
        deny command rm x
        deny command -p rm x
        deny builtin rm x
        deny exec rm x
        deny exec -a ls rm x
        deny sudo rm x
        deny sudo -u root rm x
        deny sudo -n -- rm x
        deny sudo A=1 rm x
        deny doas rm x
        deny busybox rm x
        deny xargs rm
        deny ls | xargs rm
        deny ls | xargs -0 -n 1 rm -f
        deny ls | xargs -I{} rm {}
        deny ls | xargs sh -c 'rm x'
        deny find . -exec rm {} +
        deny find . -name x -exec rm {} \;
        deny find . -execdir rm {} \;
        deny find . -ok rm {} \;
        deny find . -exec ls {} \; -exec rm {} \;
        deny find . -exec sh -c 'rm x' \;
        deny env nohup nice sudo rm x
        deny sudo env nice sh -c 'timeout 5 rm x'
        deny trap 'rm x' EXIT
        deny strace rm x
        deny strace -f rm x
        deny ssh host rm x
        deny ssh host 'rm x'
        deny su -c 'rm x'
        deny watch 'rm x'
        deny parallel rm ::: x
        deny python -c "import os; os.system('curl u')"
        deny echo curl
        deny A=1 rm x
        deny >out rm x
        deny 2>/dev/null rm x
        deny echo >out; rm x
        deny ls "unfinished; rm x
        deny ls ) rm x
        deny [[ a ]] && rm x
        deny x=$(rm y)
        deny a=(1 $(rm x))
        deny echo ${x:-$(rm y)}
        deny unset x; rm y
        deny export A=$(rm x)
        "#,
    );
}

#[test]
fn words_after_a_redirect_belong_to_the_command() {
    let rules = rules("global deny read **/.env");
    table(
        &rules,
        r"
        allow cat a
        allow cat >out a
        deny  cat >out .env
        deny  >out cat .env
        deny  <in >out cat .env
        deny  cat a >out .env
        deny  cat a > out > more .env
        ",
    );
}

#[test]
fn where_the_grammar_and_bash_part_ways_it_is_asked() {
    let rules = rules("global deny bash rm *\nproject allow bash *");
    for text in [
        "0> out 'rm' x",
        "0<in rm x",
        "nice {fd}>out 'rm' x",
        "command {x}>exec r\\m x",
        "time a=1 'rm' x",
        "time a=1 r\\m x",
        "]]function g \n\\rm x",
        "sh <<< 'rm x'",
        "sh -x <<EOF\nrm x\nEOF",
        "cat <<'EOF' | sh\n'rm' x\nEOF",
        "echo 'rm x' | sh",
        "sh -",
        "bash /dev/stdin <<< 'r\\m x'",
    ] {
        assert_ne!(bash(&rules, text).action, Action::Allow, "{text:?}");
    }
    // A shell's input is a script, so that a deny holds in it.
    for text in
        ["sh <<< 'r\\m x'", "bash <<'EOF'\nls; \"rm\" x\nEOF", "cat <<EOF | bash\n'rm' x\nEOF"]
    {
        assert_eq!(bash(&rules, text).action, Action::Deny, "{text:?}");
    }
}

/// Texts of which the grammar makes one word, where Bash sees the end of a command. Most were found
/// by running what the gate allowed.
#[test]
fn where_a_word_ends_for_bash_nothing_is_hidden_in_it() {
    let rules = rules("global deny bash rm *\nproject allow bash *");
    for text in [
        r"echo $'a\\'; rm x; echo '$'\\' ' ",
        r"echo $'\\' ; rm x ; : '$'\\' '",
        "echo [[ a == ;rm x ]] ]] #*",
        "echo [[ a == &rm ]]#;\n",
        "echo [[ a == E\nrm x ]]",
        "echo [[ a == ;\nE\nrm x ]]||true$",
        "echo [[ a == |rm x ]]",
        "echo `echo a =~ `local esac`rm x`",
        "<<<$\nrm x",
        "echo a >&'b$(rm x)'",
        r"echo a >&b\`rm\`",
        "echo $\nrm x",
        // `$!` is nothing where nothing was started.
        "$! rm x",
        "${!} rm x",
        "let 'a[$(rm x)]=1'",
        "read 'a[$(rm x)]' <<< 1",
        "test -v 'a[$(rm x)]'",
        "mapfile -C 'rm x #' -c 1 a <<< 1",
        "hash -p /bin/rm ls; ls x",
        "shopt -s expand_aliases\nalias ls='r\\m x'\nls",
    ] {
        assert_ne!(bash(&rules, text).action, Action::Allow, "{text:?}");
    }
    let rules = super::rules("project allow bash *");
    table(
        &rules,
        r#"
        allow echo $'a\\b' $'it\'s'
        allow [[ a =~ ^(b|c)$ ]]
        allow [[ $x == a* ]]
        allow echo a == b
        allow echo `pwd`
        allow x= y=1; ls
        allow alias
        allow read -r line < a
        "#,
    );
}

#[test]
fn git_reads_wildcards_that_are_quoted() {
    let rules = rules("project allow bash git *");
    table(
        &rules,
        r"
        ask   git diff -- '.en*'
        ask   git show HEAD -- '[.]env'
        ask   git log -p -- .en\?
        allow git diff -- src
        allow git grep 'a.*b' src
        ",
    );
}

#[test]
fn what_does_not_show_is_asked_about() {
    let rules = rules("project allow bash *");
    for text in [
        "ls\rrm x",
        "ls \u{0}",
        "ls \u{1b}[8mx",
        "ls \u{202e}x",
        "ls \u{200b}x",
        "ls\u{a0}x",
        "ls \u{2028}rm x",
        "l\u{455}",
        "ls \u{e0041}",
        "echo \u{fffc}",
        &format!("echo {}", "x".repeat(65 * 1024)),
        &format!("{}ls{}", "(".repeat(200), ")".repeat(200)),
        &"ls;".repeat(1000),
        &format!("{}ls", "nice ".repeat(500)),
        "",
        "  \n",
        "case",
        "ls $((x))",
        "echo $((a[$(ls)]))",
        "echo ${x@P}",
        "echo ${!x}",
        "((x=1))",
        "[[ $x -eq 1 ]]",
        "[ a > b ]",
        "declare -n x=y",
        "PATH=/tmp:$PATH",
        "export PATH=/tmp",
        "for PATH in a; do ls; done",
        "IFS=x",
        "$x",
        "$(echo ls)",
        "\"$x\" a",
        "ls*",
        "l? a",
        "{ls,-l}",
        "~/bin/x; $y",
        "echo `echo \\`ls\\``",
        "echo $\"hi\"",
        "cat <<EOF\na\n",
    ] {
        assert_eq!(bash(&rules, text).action, Action::Ask, "{text:?}");
    }
}

#[test]
fn case_39_a_child_agent_stays_below_its_parents() {
    let parent = rules("agent deny edit **");
    let child = rules("agent allow edit **\nagent allow bash *");
    let edit = |tool| super::Call {
        tool,
        about: super::About::Path { inside: "src/a.rs" },
        place: super::PLACE,
    };
    for tool in ["edit", "write", "multi_edit", "apply_patch"] {
        let call = edit(tool);
        assert_eq!(judge(&child, &call).action, Action::Allow);
        let below = super::super::judge_below(std::slice::from_ref(&parent), &child, &call);
        assert_eq!(below.action, Action::Deny);
        assert_eq!(below.because, "agent rule: edit `**` → deny");
    }
}
