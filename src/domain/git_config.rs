//! A configuration of Git, judged by whether it can name a program to run.
//!
//! Only what is known to be harmless stays: settings that Git itself writes when it makes or
//! clones a repository, and those that people set for one. Lines are read in the plain form in
//! which Git writes them, and what is not in it is not kept either.

/// What a configuration is without the lines that can name programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub kept: String,
    /// The settings that were left out, by name, without their values.
    pub dropped: Vec<String>,
}

/// Settings in a section with a name of its own: `[remote "origin"]`.
const NAMED: &[(&str, &[&str])] = &[
    (
        "remote",
        &[
            "url",
            "pushurl",
            "fetch",
            "push",
            "mirror",
            "prune",
            "prunetags",
            "tagopt",
            "promisor",
            "partialclonefilter",
        ],
    ),
    ("branch", &["remote", "merge", "pushremote", "rebase", "description"]),
    ("submodule", &["url", "active", "branch", "ignore", "path", "fetchrecursesubmodules"]),
];

/// Settings in a section without one: `[core]`.
const PLAIN: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "worktree",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "abbrev",
            "compression",
            "whitespace",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "untrackedcache",
            "preloadindex",
            "longpaths",
            "protecthfs",
            "protectntfs",
        ],
    ),
    (
        "extensions",
        &[
            "objectformat",
            "compatobjectformat",
            "refstorage",
            "partialclone",
            "preciousobjects",
            "worktreeconfig",
            "noop",
        ],
    ),
    ("user", &["name", "email", "useconfigonly"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("commit", &["gpgsign", "verbose"]),
    ("tag", &["gpgsign", "sort"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags", "parallel"]),
    ("merge", &["ff", "conflictstyle", "renames"]),
    ("rebase", &["autostash", "autosquash"]),
    ("diff", &["algorithm", "renames", "colormoved", "mnemonicprefix", "noprefix"]),
    ("submodule", &["active", "recurse", "fetchjobs"]),
    ("gc", &["auto", "autodetach"]),
    ("index", &["version", "threads", "sparse"]),
    ("color", &["ui", "diff", "status", "branch"]),
    ("log", &["date", "decorate", "follow"]),
    ("status", &["short", "branch", "showuntrackedfiles"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("lfs", &["repositoryformatversion"]),
];

/// Goes through a configuration line by line.
pub fn judge(text: &str) -> Judged {
    let mut judged = Judged::default();
    let mut section = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let keeps = if bare.is_empty() || bare.starts_with(['#', ';']) {
            !bare.ends_with('\\')
        } else if bare.starts_with('[') {
            section = Section::read(bare);
            if section.is_none() {
                judged.dropped.push(shown(bare));
            }
            section.is_some()
        } else {
            let keeps = section.as_ref().is_some_and(|section: &Section| section.allows(bare));
            if !keeps {
                let key = key_of(bare);
                let name = section.as_ref().map_or(String::new(), Section::shown);
                judged.dropped.push(shown(&format!("{name}{key}")));
            }
            keeps
        };
        if keeps {
            judged.kept.push_str(line);
        }
    }
    judged
}

fn key_of(line: &str) -> &str {
    line.split(['=', ' ', '\t']).next().unwrap_or_default()
}

/// A name that may come from anywhere, fit for a sentence.
fn shown(name: &str) -> String {
    let clean: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    clean.trim().to_owned()
}

struct Section {
    name: String,
    own: Option<String>,
}

impl Section {
    /// Reads `[name]` or `[name "own"]`, alone on its line.
    fn read(line: &str) -> Option<Self> {
        let inside = line.strip_prefix('[')?.strip_suffix(']')?;
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        match inside.split_once(' ') {
            None => word(inside).then(|| Self { name: inside.to_lowercase(), own: None }),
            Some((name, own)) => {
                let own = own.trim_start().strip_prefix('"')?.strip_suffix('"')?;
                let plain = !own.contains(['"', '\\', '\0']);
                (word(name) && plain)
                    .then(|| Self { name: name.to_lowercase(), own: Some(own.to_owned()) })
            }
        }
    }

    fn allows(&self, line: &str) -> bool {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        let known = if self.own.is_some() { NAMED } else { PLAIN };
        let known = known.iter().any(|(name, keys)| *name == self.name && keys.contains(&&*key));
        // `ext::` and its like name a program in an address. A line goes on after a `\`.
        known && !value.contains("::") && !line.ends_with('\\') && !line.contains('\0')
    }

    fn shown(&self) -> String {
        match &self.own {
            Some(own) => format!("{}.{own}.", self.name),
            None => format!("{}.", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
        \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.org/a.git\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\
        \tmerge = refs/heads/main\n[submodule]\n\tactive = .\n[submodule \"a\"]\n\turl = ./a\n";

    #[test]
    fn what_git_writes_itself_stays_as_it_is() {
        assert_eq!(judge(CLONED), Judged { kept: CLONED.to_owned(), dropped: Vec::new() });
    }

    #[test]
    fn whatever_can_name_a_program_is_left_out() {
        let bad = [
            ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
            ("[core]\n\tHooksPath = x\n", "core.HooksPath"),
            ("[core]\n\tsshCommand=x\n", "core.sshCommand"),
            ("[core]\n\tpager\n", "core.pager"),
            ("[filter \"a\"]\n\tclean = x\n", "filter.a.clean"),
            ("[diff \"a\"]\n\tcommand = x\n", "diff.a.command"),
            ("[alias]\n\tst = !x\n", "alias.st"),
            ("[include]\n\tpath = x\n", "include.path"),
            ("[includeIf \"gitdir:/\"]\n\tpath = x\n", "includeif.gitdir:/.path"),
            ("[credential]\n\thelper = x\n", "credential.helper"),
            ("[submodule \"a\"]\n\tupdate = !x\n", "submodule.a.update"),
            ("[remote \"a\"]\n\turl = ext::sh -c x\n", "remote.a.url"),
            ("[remote \"a\"]\n\tuploadpack = x\n", "remote.a.uploadpack"),
            ("[core] fsmonitor = x\n", "[core] fsmonitor = x"),
            ("[core.a]\n", "[core.a]"),
            ("fsmonitor = x\n", "submodule.a.fsmonitor"),
        ];
        for (text, name) in bad {
            let judged = judge(&format!("{CLONED}{text}"));
            assert_eq!(judged.dropped, [name], "{text}");
            assert!(!judged.kept.contains("= x") && !judged.kept.contains("./x"), "{text}");
        }
    }

    #[test]
    fn a_line_that_goes_on_does_not_carry_the_next_one_along() {
        let judged =
            judge("[user]\n\tname = a \\\n\tb\n[core]\n\tfsmonitor = x \\\n\tbare = false\n");
        assert_eq!(judged.kept, "[user]\n[core]\n\tbare = false\n");
        assert_eq!(judged.dropped, ["user.name", "user.b", "core.fsmonitor"]);
        assert_eq!(judge("# a \\\n[alias]\n\tx = !y\n").kept, "[alias]\n");
    }
}
