//! What tools cost: changing a large file, searching a large tree, and judging a command.
//!
//! `cargo bench --bench tools` prints a table; with `-- --check` a missed limit is a failure. Times
//! of the disk are times on the clock; the search is measured in turns with ripgrep's own program
//! on the same tree, where it is installed.

#[path = "main_job/report.rs"]
mod report;

use std::{
    fmt::Write as _,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    pin::Pin,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use forge::{
    domain::{
        ids::SessionId,
        permission::{About, Action, Call, Place, Rule, RuleSet, judge},
    },
    engine::tools::{self, FileContext, Files, Outcome, Recorder, Veil},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::report::{Report, median};

/// How often each is measured; the median counts.
const TIMES: usize = 15;
const SEARCHES: usize = 9;
/// Bytes of the file that is changed, and of the command that is judged.
const FILE: usize = 2_000_000;
const COMMAND: usize = 1_024;
/// Files of the tree that is searched.
const FOLDERS: usize = 500;
const IN_EACH: usize = 100;
/// Milliseconds, and times of ripgrep's own.
const EDIT: f64 = 20.0;
const VERDICT: f64 = 0.3;
const SEARCH: f64 = 1.5;

fn main() -> anyhow::Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let is_set = |option: &str| options.iter().any(|it| it == option);
    if is_set("--test") || is_set("--list") {
        // The runner of tests starts benchmarks too; this one is not quick enough to be a test.
        return Ok(());
    }
    let mut report = Report::default();
    let runtime = tokio::runtime::Runtime::new()?;
    edits(&runtime, &mut report)?;
    searches(&runtime, &mut report)?;
    verdicts(&mut report)?;
    report.counted(FILE / 1_000, "kB a file");
    report.counted(FOLDERS * IN_EACH, "files a tree");
    report.counted(COMMAND, "bytes a command");
    report.counted(TIMES, "times each, of which the median is shown");
    report.print();
    ensure!(!is_set("--check") || report.is_met(), "a limit was missed");
    Ok(())
}

/// A project's folder without a server around it.
struct Project {
    temp: TempDir,
    files: Files,
    session: SessionId,
}

/// Keeps nothing: what keeping costs is measured with the main job.
struct Nothing;

impl Recorder for Nothing {
    fn before_change<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async { Ok(()) })
    }
}

impl Project {
    fn new() -> anyhow::Result<Self> {
        let session = "00000000000000000000000001".parse()?;
        Ok(Self { temp: tempfile::tempdir()?, files: Files::default(), session })
    }

    fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap_or_else(|_| self.temp.path().to_owned())
    }

    async fn call(&self, tool: &str, input: Value) -> anyhow::Result<Outcome> {
        let root = self.root();
        let allowed = tools::subject(&root, tool, &input).map_err(anyhow::Error::msg)?;
        let context = FileContext {
            root: &root,
            session: self.session,
            files: &self.files,
            recorder: &Nothing,
            readable: &[],
            allowed: &allowed,
            veil: Veil::default(),
        };
        Ok(tools::run(tool, &context, input).await)
    }

    async fn must(&self, tool: &str, input: Value) -> anyhow::Result<Outcome> {
        let outcome = self.call(tool, input).await?;
        ensure!(outcome.error.is_none(), "{tool}: {:?}", outcome.error);
        Ok(outcome)
    }
}

/// Milliseconds since then.
fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn edits(runtime: &tokio::runtime::Runtime, report: &mut Report) -> anyhow::Result<()> {
    let project = Project::new()?;
    let mut content = String::with_capacity(FILE + 100);
    for line in 0.. {
        if content.len() >= FILE {
            break;
        }
        writeln!(content, "    let value_{line} = compute({line}, \"some text\"); // line")?;
    }
    let lines = content.lines().count();
    fs::write(project.root().join("large.rs"), &content)?;
    runtime.block_on(project.must("read", json!({"path": "large.rs"})))?;
    let at = |time: usize| lines / 2 + time * 7;
    let old = |line: usize| format!("value_{line} = compute({line},");
    let new = |line: usize| format!("value_{line} = calculate({line},");
    let (mut exact, mut loose, mut several, mut patched, mut failed) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for time in 0..TIMES {
        let line = at(time);
        let timed = |times: &mut Vec<f64>, tool: &str, input: Value| -> anyhow::Result<Outcome> {
            let start = Instant::now();
            let outcome = runtime.block_on(project.call(tool, input))?;
            times.push(since(start));
            Ok(outcome)
        };
        let fine = |outcome: Outcome| {
            ensure!(outcome.error.is_none(), "{:?}", outcome.error);
            Ok(())
        };
        let edit = json!({"path": "large.rs", "old_string": old(line), "new_string": new(line)});
        fine(timed(&mut exact, "edit", edit)?)?;
        let whole = |line: usize, what: &str, indent: &str| {
            format!("{indent}let value_{line} = {what}({line}, \"some text\"); // line")
        };
        let edit = json!({"path": "large.rs",
            "old_string": whole(line + 1, "compute", "\t"),
            "new_string": whole(line + 1, "reckon", "\t")});
        fine(timed(&mut loose, "edit", edit)?)?;
        let edits: Vec<Value> = (2..5)
            .map(|offset| json!({"old_string": old(line + offset), "new_string": new(line + offset)}))
            .collect();
        let edit = json!({"path": "large.rs", "edits": edits});
        fine(timed(&mut several, "multi_edit", edit)?)?;
        let (before, after) =
            (whole(line + 5, "compute", "    "), whole(line + 5, "reckon", "    "));
        let patch = format!(
            "*** Begin Patch\n*** Update File: large.rs\n@@\n-{before}\n+{after}\n*** End Patch"
        );
        fine(timed(&mut patched, "apply_patch", json!({"patch": patch}))?)?;
        let wrong = whole(line + 6, "compute", "    ").replace("some", "other");
        let edit = json!({"path": "large.rs", "old_string": wrong, "new_string": "x"});
        let outcome = timed(&mut failed, "edit", edit)?;
        ensure!(outcome.error.is_some_and(|it| it.contains("closest")), "it must not be found");
    }
    report.at_most("edit in a file of 2 MB", median(&exact), EDIT, "ms");
    report.noted("edit, found inexactly", median(&loose), "ms");
    report.noted("multi_edit, three edits", median(&several), "ms");
    report.noted("apply_patch", median(&patched), "ms");
    report.noted("edit, not found", median(&failed), "ms");

    let object = |seed: usize| -> String {
        (0..12_500)
            .map(|id| {
                let (id, name) = (id * seed, id + seed);
                format!("  {{\n    \"id\": {id},\n    \"name\": \"entry {name}\",\n    \"text\": \"{}\"\n  }},\n", "x".repeat(80 + seed))
            })
            .collect()
    };
    let mut written = Vec::new();
    for seed in 1..=5 {
        let input = json!({"path": "all.json", "content": object(seed)});
        let start = Instant::now();
        runtime.block_on(project.must("write", input))?;
        written.extend((seed > 1).then(|| since(start)));
    }
    report.noted("write, all of 12,500 objects new", median(&written), "ms");
    Ok(())
}

fn searches(runtime: &tokio::runtime::Runtime, report: &mut Report) -> anyhow::Result<()> {
    let project = Project::new()?;
    let root = project.root();
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "target/\n*.log\n")?;
    let text: String = (0..24)
        .map(|line| format!("    let some_{line} = words(\"of code\", {line});\n"))
        .collect();
    let mut hits = 0;
    for folder in 0..FOLDERS {
        let folder = root.join(format!("src/part{}/folder{folder}", folder % 20));
        fs::create_dir_all(&folder)?;
        for file in 0..IN_EACH {
            let hit = if file == 7 { "    needle(\"here\");\n" } else { "" };
            hits += usize::from(!hit.is_empty());
            fs::write(folder.join(format!("file{file}.rs")), format!("{text}{hit}{text}"))?;
        }
    }
    let has_ripgrep = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok();
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for time in 0..=SEARCHES {
        let start = Instant::now();
        let outcome = runtime
            .block_on(project.must("grep", json!({"pattern": "needle\\(", "output": "count"})))?;
        let spent = since(start);
        ensure!(outcome.metadata["count"] == hits, "{}", outcome.output);
        // The first time only fills the system's memory of the files.
        own.extend((time > 0).then_some(spent));
        if has_ripgrep {
            let spent = ripgrep(&root, hits)?;
            theirs.extend((time > 0).then_some(spent));
        }
    }
    report.noted("grep over 50,000 files", median(&own), "ms");
    if has_ripgrep {
        report.noted("ripgrep over the same", median(&theirs), "ms");
        let ratios: Vec<f64> = own.iter().zip(&theirs).map(|(own, theirs)| own / theirs).collect();
        report.at_most("grep, times of ripgrep", median(&ratios), SEARCH, "x");
    } else {
        println!("ripgrep (rg) is not installed, so nothing is compared with it.\n");
    }
    Ok(())
}

/// What ripgrep's own program takes for the same.
fn ripgrep(root: &Path, hits: usize) -> anyhow::Result<f64> {
    let start = Instant::now();
    let output = Command::new("rg")
        .args(["--no-config", "--hidden", "--glob", "!.git", "--line-number", "needle\\(", "."])
        .current_dir(root)
        .output()
        .context("starting rg")?;
    let spent = since(start);
    ensure!(output.stdout.iter().filter(|byte| **byte == b'\n').count() == hits, "rg found others");
    Ok(spent)
}

fn verdicts(report: &mut Report) -> anyhow::Result<()> {
    let mut rules = RuleSet::default();
    for number in 0..20 {
        rules.project.push(Rule::parse("bash", &format!("tool{number} *"), Action::Allow)?);
        rules.global.push(Rule::parse("read", &format!("secret{number}/**"), Action::Deny)?);
    }
    rules.project.push(Rule::parse("bash", "cargo test *", Action::Allow)?);
    let steps = [
        "git status --short && ls -la src",
        "for f in src/*.rs; do wc -l \"$f\" | sort -n > out.txt; done",
        "grep -rn 'needle' src tests | head -20",
        "cargo test --workspace -- --nocapture 2>&1 | tail -5",
        "cat <<'EOF' > notes.txt\nsome text here\nEOF",
        "env RUST_LOG=debug timeout 5 cargo test $(cat names.txt)",
        "find . -name '*.tmp' -exec rm {} \\;",
    ];
    let mut text = String::new();
    for step in steps.iter().cycle() {
        if text.len() + step.len() > COMMAND {
            break;
        }
        text.push_str(step);
        text.push('\n');
    }
    while text.len() < COMMAND {
        text.push('#');
    }
    let place = Place { root: "/srv/code/app", home: "/tmp", data_dir: "/var/lib/forge" };
    let call = Call { tool: "bash", about: About::Command { text: &text, cwd: "." }, place };
    let mut spent = Vec::new();
    for _ in 0..TIMES * 20 {
        let start = Instant::now();
        black_box(judge(&rules, &call));
        spent.push(since(start));
    }
    report.at_most("verdict on a command of 1 KB", median(&spent), VERDICT, "ms");
    Ok(())
}
