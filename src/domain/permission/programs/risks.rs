//! Programs that run what they are given, and options that make others do so.

use super::{super::shell::Word, git, name};

/// What kind of program a command is, as far as rules for it go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    Plain,
    /// Its arguments are a program, or name one: no rule for it is ever proposed.
    Runs,
}

/// Interpreters, shells, wrappers, package runners and remote shells.
const RUNNERS: &[&str] = &[
    // Shells and interpreters.
    "sh bash dash ash rbash zsh ksh mksh fish csh tcsh pwsh nu python python2 python3",
    "pypy pypy3 ipython node nodejs deno bun tsx ts-node perl ruby irb php lua luajit",
    "tclsh expect Rscript R julia ghci runghc scala groovy jshell java dotnet osascript",
    "guile awk gawk mawk nawk sed ed ex vi vim nvim emacs bc dc jq m4 gdb lldb sqlite3",
    "psql mysql mongosh redis-cli",
    // What starts another command.
    "env nohup nice ionice time timeout xargs sudo doas su runuser command builtin exec",
    "eval source . trap coproc busybox toybox setsid stdbuf script watch parallel flock",
    "strace ltrace perf valgrind unshare nsenter chroot setpriv capsh taskset chrt",
    "systemd-run at batch crontab entr find fd fdfind unbuffer caffeinate",
    "dbus-run-session xvfb-run firejail bwrap proot fakeroot start-stop-daemon daemonize",
    "screen tmux direnv dotenv op aws-vault alias ssh-agent",
    // Package runners, and managers that run what packages bring.
    "npx pnpx bunx uvx pipx pkgx nix nix-shell nix-build pip pip3 gem conda mamba apt",
    "apt-get dnf yum apk brew snap rpm dpkg corepack volta asdf mise rustup sdk",
    // Other machines and containers.
    "ssh scp rsync sftp telnet nc ncat socat docker podman nerdctl kubectl oc helm",
    "vagrant ansible ansible-playbook terraform tofu",
    // What fetches from or sends to anywhere, and disks.
    "curl wget dd mkfs mount umount chmod chown kill pkill killall",
];

/// Whether a program is among the runners.
fn is_runner(program: &str) -> bool {
    RUNNERS.iter().any(|line| line.split(' ').any(|it| it == program))
}

/// Subcommands that run what is named on the command line, or what came from elsewhere.
const RUNNING_SUBCOMMANDS: &[(&str, &str)] = &[
    ("npm", "exec x install i add init create ci config explore set"),
    ("pnpm", "exec dlx install i add create config"),
    ("yarn", "exec dlx install add create config node"),
    ("cargo", "install run r script config watch make"),
    ("go", "run generate install get tool env vet"),
    ("uv", "run tool pip add sync x"),
    ("poetry", "run install add shell config"),
    ("pdm", "run install add"),
    ("hatch", "run shell"),
    ("rye", "run install"),
    ("bundle", "exec install config"),
    ("composer", "exec install require run-script config"),
    ("mix", "run eval cmd do"),
    (
        "git",
        "config submodule bisect filter-branch difftool mergetool rebase clone instaweb daemon send-email clean reset hook maintenance alias",
    ),
    ("gh", "extension alias api codespace"),
];

/// What a command is, as far as rules for it go.
pub(crate) fn nature(words: &[Word]) -> Nature {
    let Some(program) = name(words) else { return Nature::Runs };
    // `python3.12` and `perl5.36` are what they are called after.
    let stem = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.' || it == '-');
    if is_runner(program) || (stem != program && is_runner(stem)) {
        return Nature::Runs;
    }
    let args = words.get(1..).unwrap_or_default();
    let second = args.first().map(|it| it.text.as_str());
    let second = match program {
        "git" => git::subcommand(args).map(|it| it.0),
        _ => second,
    };
    let runs = RUNNING_SUBCOMMANDS.iter().any(|(it, commands)| {
        *it == program && second.is_none_or(|it| commands.split(' ').any(|command| command == it))
    });
    // Options before the subcommand are not looked into.
    let hidden = second.is_some_and(|it| it.starts_with(['-', '+']))
        && RUNNING_SUBCOMMANDS.iter().any(|it| it.0 == program);
    let removes = matches!(program, "rm" | "shred" | "mkfs")
        && args.iter().any(|it| it.text.starts_with('-') && it.text != "-f" && it.text != "-v");
    if runs || hidden || removes { Nature::Runs } else { Nature::Plain }
}

/// Options with which a program that otherwise keeps to its work starts another one, or writes.
const OPTIONS: &[(&str, &str)] = &[
    ("rg", "--pre --hostname-bin --search-zip"),
    ("fd", "-x -X --exec --exec-batch"),
    ("fdfind", "-x -X --exec --exec-batch"),
    ("sort", "--compress-program"),
    (
        "tar",
        "--to-command --checkpoint-action --use-compress-program --rsh-command -I --info-script --new-volume-script -F",
    ),
    ("man", "-P --pager -H --html"),
    ("date", "-s --set"),
    ("hostname", "-F --file -b"),
    ("make", "--eval"),
    ("cargo", "--config -Z"),
    ("go", "-exec -toolexec -overlay"),
    ("pytest", "-p -c --rootdir --confcutdir"),
    ("eslint", "--resolve-plugins-relative-to --rulesdir -c --config -f --format"),
    ("zip", "-T -TT --unzip-command"),
    ("rsync", "-e --rsh --rsync-path"),
    ("curl", "-K --config"),
    ("wget", "-e --execute --use-askpass"),
    ("printf", "-v"),
    ("mapfile", "-C"),
    ("readarray", "-C"),
    ("hash", "-p"),
    ("enable", "-f"),
    ("complete", "-C -F"),
    ("compgen", "-C -F"),
];

/// Commands of the shell itself that take the names of variables. One such as `a[$(…)]` is
/// calculated, and that runs a command.
const NAMING: &[&str] =
    &["read", "test", "[", "unset", "wait", "getopts", "mapfile", "readarray", "typeset", "local"];

/// Why a command of the shell may run another one that shows in no place of its own.
fn hidden(program: &str, args: &[Word]) -> Option<&'static str> {
    let starts = |it: &Word| it.text.contains('[') && it.text.contains(['$', '`']);
    match program {
        "let" => Some("calculates with a variable, whose value could run a command"),
        "test" if args.iter().any(|it| matches!(it.text.as_str(), "-v" | "-R")) => {
            Some("looks at a variable in a way that could run a command")
        }
        name if NAMING.contains(&name) && args.iter().any(starts) => {
            Some("names a variable in a way that runs a command")
        }
        "alias" if args.iter().any(|it| it.text.contains('=')) => {
            Some("gives a name to another command")
        }
        _ => None,
    }
}

/// Why a command has to be looked at, even where a rule allows it.
pub(crate) fn risks(words: &[Word]) -> Vec<String> {
    let Some(program) = name(words) else { return Vec::new() };
    let args = words.get(1..).unwrap_or_default();
    if program == "git" {
        return git::risk(args).into_iter().collect();
    }
    if let Some(reason) = hidden(program, args) {
        return vec![reason.to_owned()];
    }
    let Some((_, options)) = OPTIONS.iter().find(|it| it.0 == program) else { return Vec::new() };
    let is = |text: &str, option: &str| {
        let glued = option.len() == 2 && text.starts_with(option) && !text.starts_with("--");
        let named = text.split('=').next() == Some(option);
        glued || named
    };
    let risky = args.iter().filter(|it| options.split(' ').any(|option| is(&it.text, option)));
    risky
        .map(|it| format!("{program} can run a program or change things with {}", it.text))
        .collect()
}
