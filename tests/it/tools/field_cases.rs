//! Faults of editing tools that were reported in public, by their number.
//!
//! Most are folders in `tests/scenarios/`; those that need more than one call stand beside what
//! they are about, under the same names: 11, 12 and 14 in `change.rs`, 15 in `patch.rs`, 20 in
//! `paths.rs`, 22 in `read.rs`, 30 and 33 in `search.rs`.

use super::scenarios::check;

/// A test for each case, with the folders that show it.
macro_rules! cases {
    ($($name:ident: $($folder:literal)+;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $(check($folder).await;)+
        })*
    };
}

cases! {
    case_01_bytes_that_are_no_utf_8_stay_or_nothing_is_written:
        "edit/case_01_latin_1" "edit/case_01_latin_1_mixed" "edit/case_01_write_of_lossy_text"
        "multi_edit/latin_1" "apply_patch/latin_1" "apply_patch/latin_1_mixed";
    case_02_a_byte_order_mark_is_kept_and_not_in_the_way:
        "edit/case_02_bom" "edit/case_02_write_keeps_bom_and_crlf" "apply_patch/bom"
        "multi_edit/bom_crlf_and_no_final_newline";
    case_03_line_ends_are_not_mixed:
        "apply_patch/case_03_crlf" "edit/case_03_crlf" "apply_patch/patch_itself_crlf"
        "apply_patch/mixed_line_ends" "edit/mixed_line_ends" "edit/crlf_with_other_indentation";
    case_05_what_looks_like_a_replacement_template_is_text:
        "edit/case_05_replacement_templates" "multi_edit/templates_are_text";
    case_06_a_block_with_another_middle_is_another_block:
        "edit/case_06_drifted_middle" "apply_patch/case_06_drifted_middle" "multi_edit/closest_lines";
    case_07_what_was_found_inexactly_is_indented_as_the_file_and_told:
        "edit/case_07_tabs_given_as_spaces" "edit/case_07_spaces_given_as_tabs"
        "multi_edit/inexact" "apply_patch/trimmed_and_indented";
    case_09_an_empty_or_blank_text_to_replace_comes_to_an_end:
        "edit/case_09_empty_old" "edit/case_09_blank_old_everywhere" "multi_edit/empty_old";
    case_17_more_lines_than_the_file_has_are_an_error:
        "apply_patch/case_17_longer_than_the_file" "edit/case_17_longer_than_the_file";
    case_18_what_was_cut_off_is_not_carried_out:
        "edit/case_18_write_cut_arguments" "apply_patch/cut_off";
}
