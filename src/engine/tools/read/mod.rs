//! The tool that shows a text file, page by page.

mod window;

use std::{fs, path::Path};

use serde_json::{Value, json};

use self::window::Window;
use super::{
    FileContext, Outcome, Target, Veil, blocking,
    disk::{Base, Trouble},
    files::Stamp,
    input::{self, parse},
    resolve, walk,
};
use crate::domain::text;

/// How many lines are shown at once.
const LINES: usize = 2_000;
pub async fn run(context: &FileContext<'_>, input: Value) -> Outcome {
    let input: input::Read = match parse("read", input) {
        Ok(input) => input,
        Err(error) => return Outcome::failed(String::new(), error),
    };
    let spilled =
        resolve(context.root, &input.path).ok().filter(|target| target.is_below(context.readable));
    let target = match spilled.map_or_else(|| context.target(&input.path), Ok) {
        Ok(target) => target,
        Err(error) => return Outcome::failed(input.path, error),
    };
    let title = target.shown();
    let (root, aim, veil) = (context.root.to_owned(), target.clone(), context.veil.clone());
    let page = blocking(move || page(&root, &aim, &input, &veil)).await;
    let result = page.map(|page| {
        if let Some(stamp) = page.stamp {
            context.files.see(context.session, &target.real, stamp);
        }
        (page.output, page.metadata)
    });
    Outcome::of(title, result)
}

struct Page {
    output: String,
    metadata: Value,
    /// Absent where the file was not read to its end.
    stamp: Option<Stamp>,
}

fn page(root: &Path, target: &Target, input: &input::Read, veil: &Veil) -> Result<Page, String> {
    let (base, way) = Base::of(root, target).map_err(|trouble| trouble.about(target))?;
    let (file, meta) = base.open(&way).map_err(|trouble| match trouble {
        Trouble::Folder => {
            format!("{} is a folder. Use list to see what is in it.", target.shown())
        }
        Trouble::Missing => missing(root, target, veil),
        trouble => trouble.about(target),
    })?;
    let first = input.offset.unwrap_or(1);
    let mut window = Window::new(first, input.limit.unwrap_or(LINES).min(LINES));
    let stamp = window.take(file, meta.len()).map_err(|trouble| match trouble {
        Trouble::Special(what) => format!(
            "{} is {what} ({}), which cannot be shown as text.",
            target.shown(),
            text::size(meta.len())
        ),
        trouble => trouble.about(target),
    })?;
    if window.total == 0 && stamp.is_some() {
        let metadata = json!({"lines_from": 0, "lines_to": 0, "lines_total": 0});
        return Ok(Page { output: "The file is empty.".to_owned(), metadata, stamp });
    }
    if window.shown == 0 {
        let lines = text::counted(window.total, "line");
        return Err(format!("offset {first} is past the end: {} has {lines}.", target.shown()));
    }
    let last = first + window.shown - 1;
    let total = stamp.map(|_| window.total);
    let mut output = window.output;
    if let Some(note) = window.note {
        output.push_str(note);
        output.push('\n');
    }
    match total {
        Some(total) if last == total && first == 1 => {}
        Some(total) if last == total => {
            output.push_str(&format!("(Lines {first}-{last} of {total}, to the end.)\n"))
        }
        Some(total) => {
            output.push_str(&format!(
                "(Lines {first}-{last} of {total}. Go on with offset {}.)\n",
                last + 1
            ));
        }
        None => output.push_str(&format!(
            "(Lines {first}-{last} of a file of {}. Go on with offset {}.)\n",
            text::size(meta.len()),
            last + 1
        )),
    }
    let metadata = json!({"lines_from": first, "lines_to": last, "lines_total": total});
    Ok(Page { output, metadata, stamp })
}

/// What to say of a file that is not there: the names that may have been meant.
fn missing(root: &Path, target: &Target, veil: &Veil) -> String {
    let mut message = Trouble::Missing.about(target);
    let (Some(name), Some(folder)) =
        (target.real.file_name().and_then(|it| it.to_str()), target.real.parent())
    else {
        return message;
    };
    let shown =
        |path: &Path| match path.strip_prefix(fs::canonicalize(root).as_deref().unwrap_or(root)) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        };
    let beside: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(2_000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let names: Vec<&str> = beside.iter().map(String::as_str).collect();
    let mut meant: Vec<String> = similar::get_close_matches(name, &names, 3, 0.6)
        .into_iter()
        .map(|name| shown(&folder.join(name)))
        .collect();
    if target.inside.is_some() {
        let named = walk::walker(root, root).build().take(20_000).flatten();
        meant.extend(named.filter(|entry| entry.file_name() == name).take(3).map(|entry| {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            path.to_string_lossy().into_owned()
        }));
    }
    meant.retain(|path| !veil.hides(path));
    meant.dedup();
    if !meant.is_empty() {
        let meant: Vec<_> =
            meant.iter().take(4).map(|path| text::printable(path.as_bytes())).collect();
        message.push_str(&format!(" Did you mean {}?", meant.join(" or ")));
    }
    message
}
