//! The tree and the file view: odd names, hostile names, and paths that lead out.

use std::{fs, os::unix::fs::symlink};

use super::*;

/// A path as a query takes it.
fn query(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        text.push_str(&format!("%{byte:02x}"));
    }
    text
}

#[actix_web::test]
async fn files_of_odd_names_are_listed_and_shown() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let names = ["a\"b.txt", "new\nline.txt", "公共.cpp", "sp ace", "100%", "#L1", "a&b=c", "-rf"];
    let files: Vec<_> = names.iter().map(|name| (*name, "int x = 1;")).collect();
    let path = folder(&app, "odd", &files);
    let project = add(&app, &alice, &path).await;
    let tree = alice.get(&format!("/projects/{}/files", project.id)).await.assert_ok();
    for name in names {
        let page = alice.get(&format!("/projects/{}/file?path={}", project.id, query(name))).await;
        let page = page.assert_ok();
        assert!(page.body.contains("<tr id=\"L1\">"), "{name:?}");
        // The tree leads there.
        let link = format!("file?path={}\"", forge::web::files::encoded(name));
        assert!(tree.body.contains(&link), "{link}");
    }
    assert!(tree.body.contains("a&#34;b.txt") && tree.body.contains("公共.cpp"));
}

#[actix_web::test]
async fn no_path_leads_out_of_a_project() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "safe", &[("src/a.txt", "a")]);
    fs::write(app.folder.path().join("secret"), "TOP SECRET").unwrap();
    fs::write(app.folder.path().join("roots/near"), "TOP SECRET").unwrap();
    symlink(app.folder.path().join("secret"), path.join("absolute")).unwrap();
    symlink("../near", path.join("relative")).unwrap();
    symlink("..", path.join("up")).unwrap();
    symlink("/proc/self/root", path.join("magic")).unwrap();
    let project = add(&app, &alice, &path).await;
    let secret = app.folder.path().join("secret");
    for path in [
        "../near",
        "src/../../near",
        "./../near",
        secret.to_str().unwrap(),
        "/etc/passwd",
        "absolute",
        "relative",
        "up/near",
        "magic/etc/passwd",
        ".git/config",
        "src/../.git/config",
        "nul\0byte",
        "missing",
        "..",
        "src/a.txt/x",
        "//etc/passwd",
    ] {
        for page in ["file", "raw", "files"] {
            let address = format!("/projects/{}/{page}?path={}", project.id, query(path));
            let answer = alice.get(&address).await;
            assert_eq!(answer.status.as_u16(), 404, "{page} {path:?}");
            assert!(!answer.body.contains("TOP SECRET"), "{page} {path:?}");
        }
    }
    alice.get(&format!("/projects/{}/file?path=..%2fnear", project.id)).await.assert_status(404);
    alice
        .get(&format!("/projects/{}/file?path=%252e%252e/near", project.id))
        .await
        .assert_status(404);
    alice.get(&format!("/projects/{}/file?path=src/a.txt", project.id)).await.assert_ok();
}

#[actix_web::test]
async fn case_49_markup_in_names_and_files_is_shown_as_text() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let evil = "<img src=x onerror=alert(1)>";
    let path =
        repository(&app, "evil", &[(evil, "x"), ("<b>/page.html", "<script>alert(1)</script>")]);
    git(&path, &["checkout", "--quiet", "-b", "<script>alert(1)</script>"]);
    fs::write(path.join("\"><script>alert(2)<"), "new").unwrap();
    let form =
        [("from", "folder"), ("path", path.to_str().unwrap()), ("name", "<script>n</script>")];
    let project = added(&app, &alice, &alice.post("/projects", &form).await).await;
    let id = project.id;
    for page in [
        format!("/projects/{id}"),
        format!("/projects/{id}/remove"),
        format!("/projects/{id}/files"),
        format!("/projects/{id}/files?path={}", query("<b>")),
        format!("/projects/{id}/file?path={}", query(evil)),
        format!("/projects/{id}/file?path={}", query("<b>/page.html")),
        "/".to_owned(),
    ] {
        let answer = alice.get(&page).await.assert_ok();
        for bad in ["<script>", "<img src=x", "<b>/", "\"><script", "<b></a>"] {
            assert!(!answer.body.contains(bad), "{page}: {bad} in {}", answer.body);
        }
    }
}

#[actix_web::test]
async fn a_file_has_numbered_coloured_lines() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = folder(&app, "code", &[("src/a.rs", "fn main() {}\n\n// done\n")]);
    let project = add(&app, &alice, &path).await;
    let page = alice.get(&format!("/projects/{}/file?path=src/a.rs", project.id)).await.assert_ok();
    let from = page.body.find("<table").unwrap();
    let to = page.body.find("</table>").unwrap();
    insta::assert_snapshot!(&page.body[from..to], @r##"
    <table class="code" id="code"><tbody>
              <tr id="L1"><td class="n" data-n="1"></td><td class="c"><span class="hl-k">fn</span> <span class="hl-f">main</span>() {}</td></tr>
              <tr id="L2"><td class="n" data-n="2"></td><td class="c"></td></tr>
              <tr id="L3"><td class="n" data-n="3"></td><td class="c"><span class="hl-c">// done</span></td></tr>
            </tbody>
    "##);
    assert!(page.body.contains("<span class=\"dir\">src/</span>a.rs"));
    assert!(page.body.contains("3 lines, 22 bytes"), "{}", page.body);
    // The tree is open down to the file.
    assert!(page.body.contains("<details open>"), "{}", page.body);
    assert!(page.body.contains("src/a.rs\" aria-current=\"page\""), "{}", page.body);
}

#[actix_web::test]
async fn a_folder_opens_as_a_fragment_for_htmx_and_as_a_page_without() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path =
        folder(&app, "tree", &[("src/deep/x.rs", ""), ("src/a.rs", ""), (".gitignore", "a.rs")]);
    let project = add(&app, &alice, &path).await;
    let address = format!("/projects/{}/files?path=src", project.id);
    let request = alice.request(reqwest::Method::GET, &address).header("hx-request", "true");
    let fragment = Answer::to(request).await.assert_ok();
    let fragment = fragment.body.replace(&project.id.to_string(), "ID");
    insta::assert_snapshot!(fragment.replace(forge::web::assets::version(), "V"), @r##"
    <li><details hx-get="/projects/ID/files?path=src/deep" hx-trigger="toggle once" hx-target="find ul" hx-swap="innerHTML"><summary><svg class="icon" aria-hidden="true"><use href="/static/V/icons.svg#chevron"></use></svg><span class="name">deep</span></summary><ul><li><a href="/projects/ID/files?path=src/deep"><svg class="icon" aria-hidden="true"><use href="/static/V/icons.svg#folder"></use></svg><span class="name">Open this folder</span></a></li></ul></details></li>
    <li><a href="/projects/ID/file?path=src/a.rs"><svg class="icon" aria-hidden="true"><use href="/static/V/icons.svg#file"></use></svg><span class="name faint">a.rs<span class="sr">, ignored by git</span></span></a></li>
    "##);
    let page = alice.get(&address).await.assert_ok();
    assert!(
        page.body.contains("<main class=\"page wide\"") && page.body.contains("Ignored by git")
    );
}

#[actix_web::test]
async fn bytes_leave_only_as_a_download_of_plain_text() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let html = "<script>alert(1)</script>";
    let path = folder(&app, "raw", &[("x\"\n公.html", html), ("empty", "")]);
    fs::write(path.join("big.bin"), vec![0; 3 << 20]).unwrap();
    let project = add(&app, &alice, &path).await;
    let address = format!("/projects/{}/raw?path={}", project.id, query("x\"\n公.html"));
    let answer = alice.get(&address).await.assert_ok();
    assert_eq!(answer.body, html);
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert_eq!(
        answer.headers["content-disposition"],
        "attachment; filename=\"file\"; filename*=UTF-8''x%22%0A%E5%85%AC.html"
    );
    let big = alice.get(&format!("/projects/{}/raw?path=big.bin", project.id)).await.assert_ok();
    assert_eq!(big.body.len(), 3 << 20);
    let page = alice.get(&format!("/projects/{}/file?path=big.bin", project.id)).await.assert_ok();
    assert!(page.body.contains("Files over 1.0 MB are not shown"), "{}", page.body);
    let page = alice.get(&format!("/projects/{}/file?path=empty", project.id)).await.assert_ok();
    assert!(page.body.contains("This file is empty."));
}

#[actix_web::test]
async fn a_folder_that_is_gone_is_said_and_breaks_nothing() {
    let app = TestApp::start().await;
    let alice = app.person("alice").await;
    let path = repository(&app, "gone", &[("x", "x")]);
    let project = add(&app, &alice, &path).await;
    fs::remove_dir_all(&path).unwrap();
    let page = alice.get(&format!("/projects/{}", project.id)).await.assert_ok();
    assert!(page.body.contains("is not there any more"), "{}", page.body);
    alice.get(&format!("/projects/{}/files", project.id)).await.assert_status(409);
    alice.get("/").await.assert_ok();
    alice.post(&format!("/projects/{}/remove", project.id), &[]).await.assert_redirect("/");
}
