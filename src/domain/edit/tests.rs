use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn edit(content: &[u8], old: &str, new: &str) -> Edited {
    apply(content, old, new, ReplaceAll::No).unwrap()
}

#[track_caller]
fn edited(content: &str, old: &str, new: &str) -> String {
    String::from_utf8(edit(content.as_bytes(), old, new).content).unwrap()
}

#[track_caller]
fn refused(content: &str, old: &str, new: &str) -> String {
    apply(content.as_bytes(), old, new, ReplaceAll::No).unwrap_err().to_string()
}

#[test]
fn bytes_that_are_no_utf_8_stay() {
    assert_eq!(edit(b"caf\xE9\nx=1\n", "x=1", "x=2").content, b"caf\xE9\nx=2\n");
    let mixed = apply(b"caf\xE9\nx=1\n", "x=1", "x=\u{e9}", ReplaceAll::No);
    assert_eq!(mixed, Err(EditError::MixedEncoding));
}

#[test]
fn a_byte_order_mark_stays_and_is_not_in_the_way() {
    assert_eq!(edit(b"\xEF\xBB\xBFa\nb\n", "b", "c").content, b"\xEF\xBB\xBFa\nc\n");
    assert_eq!(edit(b"\xEF\xBB\xBFa\nb\n", "a\nb", "c").content, b"\xEF\xBB\xBFc\n");
    assert_eq!(
        edit(b"\xEF\xBB\xBFa\nb\n", "\u{FEFF}a", "\u{FEFF}c").content,
        b"\xEF\xBB\xBFc\nb\n"
    );
}

#[test]
fn new_text_gets_the_line_ends_of_its_place() {
    assert_eq!(edited("foo\r\nbar\r\n", "foo\nbar", "foo\nbaz\nqux"), "foo\r\nbaz\r\nqux\r\n");
    assert_eq!(edited("foo\nbar\n", "foo\r\nbar", "one\r\ntwo"), "one\ntwo\n");
    assert_eq!(edited("a\r\nb\nc\r\n", "b\nc", "b\nx\nc"), "a\r\nb\nx\nc\r\n");
    assert_eq!(edited("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
    assert_eq!(edited("a\r\nb", "a\n", ""), "b");
}

#[test]
fn line_ends_alone_can_be_changed() {
    assert_eq!(edited("a\r\nb\r\n", "a\r\n", "a\n"), "a\nb\r\n");
}

#[test]
fn what_looks_like_a_replacement_template_is_text() {
    assert_eq!(edited("cost", "cost", "cost $& $$ $1 \\1 ${x}"), "cost $& $$ $1 \\1 ${x}");
}

#[test]
fn a_missing_final_newline_stays_missing() {
    assert_eq!(edited("a\nb", "b", "c"), "a\nc");
}

#[test]
fn a_block_with_another_middle_is_not_the_block() {
    let file = "fn a(){\n X\n Y\n}";
    let message = refused(file, "fn a(){\n P\n Q\n}", "fn a(){\n Z\n}");
    assert!(message.contains("lines 1-4"), "{message}");
    assert!(message.contains(">    2|·X"), "{message}");
    assert!(message.contains("     1|fn a(){"), "{message}");
}

#[test]
fn several_places_are_named_and_none_is_changed() {
    let message = refused("x\ny\nx\n", "x", "z");
    assert!(message.contains("2 times (at lines 1, 3)"), "{message}");
    assert!(refused("aaa", "aa", "b").contains("2 times"));
    let all = apply(b"x\ny\nx\n", "x", "zz", ReplaceAll::Yes).unwrap();
    assert_eq!((all.content.as_slice(), all.count), (&b"zz\ny\nzz\n"[..], 2));
}

#[test]
fn nothing_and_white_space_come_to_an_end() {
    assert_eq!(apply(b"abc", "", "x", ReplaceAll::Yes), Err(EditError::Empty));
    assert_eq!(apply(b"a b c", " ", "  ", ReplaceAll::Yes).unwrap().content, b"a  b  c");
    assert!(refused("abc", "   ", "x").contains("not in the file"));
    assert_eq!(apply(b"abc", "a", "a", ReplaceAll::No), Err(EditError::Same));
}

#[test]
fn spaces_for_tabs_are_found_and_become_tabs() {
    let file = "fn a() {\n\tif x {\n\t\tone();\n\t}\n}\n";
    let old = "    if x {\n        one();\n    }";
    let new = "    if x {\n        one();\n        if y {\n            two();\n        }\n    }";
    let result = edit(file.as_bytes(), old, new);
    assert!(result.inexact);
    assert_eq!(
        String::from_utf8(result.content).unwrap(),
        "fn a() {\n\tif x {\n\t\tone();\n\t\tif y {\n\t\t\ttwo();\n\t\t}\n\t}\n}\n"
    );
}

#[test]
fn missing_indentation_is_brought_to_the_depth_of_the_file() {
    let file = "class A:\n  def f(self):\n    return 1\n";
    let result = edit(
        file.as_bytes(),
        "def f(self):\n    return  1\n",
        "def f(self):\n    if x:\n        return 2\n    return 1\n",
    );
    assert_eq!(
        String::from_utf8(result.content).unwrap(),
        "class A:\n  def f(self):\n    if x:\n      return 2\n    return 1\n"
    );
}

#[test]
fn lines_that_a_loose_edit_leaves_alone_keep_their_bytes() {
    let file = "a  =  1 \r\nb = 2\r\nc\t= 3\n";
    let result = edit(file.as_bytes(), "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 20\nc = 3\n");
    assert_eq!(result.content, b"a  =  1 \r\nb = 20\r\nc\t= 3\n");
}

#[test]
fn another_structure_of_indentation_is_another_block() {
    let message = refused("if x:\n    a\n    b  + 1\n", "if x:\n    a\nb + 1", "pass");
    assert!(message.contains("not in the file"), "{message}");
}

#[test]
fn two_places_that_differ_in_white_space_only_are_refused() {
    let message = refused("\tx = 1\n  x = 1\n", "x  = 1", "x = 2");
    assert!(message.contains("2 places (at lines 1, 2)"), "{message}");
}

#[test]
fn lines_can_be_removed_by_a_loose_edit() {
    let result = edit(b"a\n\tb  c\nd\n", "  b c\n", "");
    assert_eq!(result.content, b"a\nd\n");
}

#[test]
fn a_change_that_was_made_already_is_said_to_be_there() {
    let message = refused("one\ntwo = 22\n", "two = 2\nthree", "two = 22");
    assert!(message.contains("already there, at line 2"), "{message}");
}

#[test]
fn copied_line_numbers_are_pointed_out() {
    let message = refused("fn main() {}\n", "1\tfn main() {}", "x");
    assert!(message.contains("line numbers"), "{message}");
}

#[test]
fn text_longer_than_the_file_is_not_found() {
    assert!(refused("a", "a\nb\nc\nd\ne\n", "x").contains("not in the file"));
    assert!(refused("", "a", "x").contains("not in the file"));
}

proptest! {
    /// Whatever is replaced by a mark can be put back, and everything around is untouched.
    #[test]
    fn an_edit_changes_only_its_place(before in "[ab\r\n]{0,20}", middle in "[xy\n]{0,8}", after in "[ab\r\n]{0,20}") {
        let content = format!("{before}<{middle}>{after}");
        let there = edit(content.as_bytes(), &format!("<{middle}>"), "<MARK>");
        prop_assert!(!there.inexact);
        prop_assert_eq!(there.content, format!("{before}<MARK>{after}").into_bytes());
    }

    #[test]
    fn no_input_makes_it_fail_badly(content in proptest::collection::vec(any::<u8>(), 0..80), old in "[a \t\n]{0,6}", new in ".{0,6}") {
        for all in [ReplaceAll::No, ReplaceAll::Yes] {
            let _ = apply(&content, &old, &new, all);
        }
    }

    #[test]
    fn loose_edits_keep_what_is_around(indent in "[ \t]{0,6}", depth in 0usize..4) {
        let file = format!("top\n{indent}alpha  beta\nend");
        let old = format!("{}alpha beta\t", " ".repeat(depth));
        let result = edit(file.as_bytes(), &old, &format!("{}gamma", " ".repeat(depth)));
        prop_assert!(result.inexact);
        prop_assert_eq!(result.content, format!("top\n{indent}gamma\nend").into_bytes());
    }
}
