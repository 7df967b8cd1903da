use std::fmt::Write as _;

use super::*;
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case::booleans(
    "{a: yes, b: No, c: ON, d: off, e: y, f: n, g: true, h: 'yes', i: yEs, j: \"no\"}",
    json!({"a": true, "b": false, "c": true, "d": false, "e": true, "f": false, "g": true, "h": "yes", "i": "yEs",
        "j": "no"})
)]
#[case::integers(
    "{a: 1, b: -7, c: 0x1F, d: 0777, e: 1_000, f: 18446744073709551615, g: 0b101, h: +3, i: 0o17, j: 08}",
    json!({"a": 1, "b": -7, "c": 31, "d": 511, "e": 1000, "f": 18_446_744_073_709_551_615_u64, "g": 5, "h": 3, "i": 15,
        "j": 8})
)]
#[case::floats("{a: 1.5, b: 1.0, c: 1e3, d: .5, e: 4.20, f: 1.}", json!({"a": 1.5, "b": 1, "c": 1000, "d": 0.5, "e": 4.2, "f": 1}))]
#[case::nulls("{a: , b: ~, c: null, d: 'null', e: ''}", json!({"a": null, "b": null, "c": null, "d": "null", "e": ""}))]
#[case::strings(
    "{a: 4.20.1, b: v4, c: 1h30m, d: 00:5E:53, e: 2026-01-05, f: 2-15, g: 10.0.0.1, h: 0xZZ, i: 1e, j: 2001-12-14t21:59:43Z}",
    json!({"a": "4.20.1", "b": "v4", "c": "1h30m", "d": "00:5E:53", "e": "2026-01-05", "f": "2-15", "g": "10.0.0.1",
        "h": "0xZZ", "i": "1e", "j": "2001-12-14t21:59:43Z"})
)]
#[case::keys("{1: a, true: b, yes: c, 4.20: d, 0x10: e}", json!({"1": "a", "true": "c", "4.2": "d", "16": "e"}))]
#[case::tags(
    "{a: !!str 1, b: !!float 1, c: !!int '3', d: ! 5, e: !own 6, f: !!binary aGk=, g: !!str yes}",
    json!({"a": "1", "b": 1, "c": 3, "d": "5", "e": "6", "f": "hi", "g": "yes"})
)]
#[case::anchors("a: &x {k: [1, 2]}\nb: *x\n", json!({"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}))]
#[case::anchor_again("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", json!({"a": 1, "b": 1, "c": 2, "d": 2}))]
#[case::merge("base: &x {a: 1, b: 2}\nm:\n  <<: *x\n  b: 3\n", json!({"base": {"a": 1, "b": 2}, "m": {"a": 1, "b": 3}}))]
#[case::merge_after_overwrites("base: &x {a: 1}\nm: {a: 2, <<: *x}\n", json!({"base": {"a": 1}, "m": {"a": 1}}))]
#[case::merge_list(
    "x: &x {a: 1, b: 1}\nz: &z {b: 2, c: 2}\nm: {<<: [*x, *z]}\n",
    json!({"x": {"a": 1, "b": 1}, "z": {"b": 2, "c": 2}, "m": {"a": 1, "b": 1, "c": 2}})
)]
#[case::merge_of_merge(
    "x: &x {a: 1}\nz: &z {<<: *x, b: 2}\nm: {<<: *z, c: 3}\n",
    json!({"x": {"a": 1}, "z": {"a": 1, "b": 2}, "m": {"a": 1, "b": 2, "c": 3}})
)]
#[case::merge_inline("m: {<<: {a: 1}, b: 2}\n", json!({"m": {"a": 1, "b": 2}}))]
#[case::quoted_merge_key_is_a_key("m: {'<<': {a: 1}}\n", json!({"m": {"<<": {"a": 1}}}))]
#[case::blocks("a: |\n  x\n  y\nb: >-\n  x\n  y\n", json!({"a": "x\ny\n", "b": "x y"}))]
#[case::json(r#"{"a": {"b": [1, "2", null]}}"#, json!({"a": {"b": [1, "2", null]}}))]
#[case::first_of_several("a: 1\n---\nb: 2\n", json!({"a": 1}))]
#[case::duplicate_last_wins("a: 1\nb: 2\na: 3\n", json!({"a": 3, "b": 2}))]
#[case::quoted_at_the_margin("a: \"x\n\ny\"\nb: {c: 'x\ny'}\n", json!({"a": "x\ny", "b": {"c": "x y"}}))]
#[case::quoted_in_lists("k:\n- - a: \"x\n  y\"\n    b: 1\n- 'c\n\n  d'\n", json!({"k": [[{"a": "x y", "b": 1}], "c\nd"]}))]
#[case::brackets_at_the_margin("a:\n  b: [1,\n2,\n 3\n]\n  c: {\n\"d\": 1\n}\n", json!({"a": {"b": [1, 2, 3], "c": {"d": 1}}}))]
#[case::json_with_tabs("a: {\n\t\"b\": [\n\t\t1,\n\t\t2\n\t]\n}\n", json!({"a": {"b": [1, 2]}}))]
#[case::json_with_tabs_in_a_block("a:\n  x: {\n\t\"b\": 1\n  }\n", json!({"a": {"x": {"b": 1}}}))]
#[case::empty("", json!({}))]
#[case::comment_only("# nothing\n", json!({}))]
#[case::null("null\n", json!({}))]
#[case::marker_only("---\n", json!({}))]
fn reads(#[case] text: &str, #[case] want: Value) {
    assert_eq!(parse_mapping(text).unwrap(), want);
}

#[rstest]
#[case::list(
    "- a\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"
)]
#[case::string(
    "text\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}"
)]
#[case::number(
    "12\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go value of type map[string]interface {}"
)]
#[case::boolean(
    "yes\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal bool into Go value of type map[string]interface {}"
)]
#[case::broken(
    "clusterType: SNO\n  baseDomain: [a\n",
    "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context"
)]
#[case::tab(
    "a:\n\tb: 2\n",
    "error converting YAML to JSON: yaml: line 2: found character that cannot start any token"
)]
#[case::no_colon(
    "a: 1\nb\nc: 2\n",
    "error converting YAML to JSON: yaml: line 2: could not find expected ':'"
)]
#[case::open_list("[a\n", "error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'")]
#[case::indent(
    "a:\n    b: 1\n  c: 2\n",
    "error converting YAML to JSON: yaml: line 3: did not find expected key"
)]
#[case::unknown_anchor(
    "x: 1\ny: {a: *nope}\n",
    "error converting YAML to JSON: yaml: unknown anchor 'nope' referenced"
)]
#[case::control("a: \u{1}\n", "error converting YAML to JSON: yaml: control characters are not allowed")]
#[case::nan("a: .nan\n", "error converting YAML to JSON: json: unsupported value: NaN")]
#[case::bad_int("a: !!int x\n", "error converting YAML to JSON: yaml: cannot decode !!str `x` as a !!int")]
#[case::merge_of_text(
    "a: &x text\nb: {<<: *x}\n",
    "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value"
)]
#[case::merge_scalar(
    "b: {<<: 1}\n",
    "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value"
)]
#[case::null_key("{~: 1}\n", "error converting YAML to JSON: unsupported map key of type: null")]
#[case::complex_key("? [a]\n: 1\n", "error converting YAML to JSON: yaml: invalid map key")]
fn refuses(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse_mapping(text).unwrap_err().to_string(), message);
}

#[test]
fn an_anchor_that_contains_itself_is_an_error() {
    assert!(parse_mapping("a: &x {b: *x}\n").is_err());
    assert!(parse_mapping("a: &x\n  <<: *x\n").is_err());
}

#[test]
fn duplicates_are_reported_with_their_line_and_not_for_merges() {
    let read = read_mapping("x: &x {a: 0}\nm:\n  <<: *x\n  a: 1\n  a: 2\nb: 1\nb: 2\n").unwrap();
    let found: Vec<_> = read.duplicates.iter().map(|d| (d.key.as_str(), d.line)).collect();
    assert_eq!(found, [("a", 5), ("b", 7)]);
}

#[test]
fn all_documents_without_the_empty_ones() {
    let text = "---\na: 1\n---\n---\n# nothing\n---\n- 2\n...\n";
    assert_eq!(documents(text).unwrap(), [json!({"a": 1}), json!([2])]);
    assert_eq!(documents("").unwrap(), Vec::<Value>::new());
    assert!(documents("a: 1\n---\nb: [\n").is_err());
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let list = vec![format!("*a{}", i - 1); 9].join(", ");
        writeln!(text, "a{i}: &a{i} [{list}]").unwrap();
    }
    let message = parse_mapping(&text).unwrap_err().to_string();
    assert_eq!(message, "error converting YAML to JSON: yaml: document contains excessive aliasing");
}

#[test]
fn a_bomb_of_long_texts_is_refused_quickly() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 1000].join(", "));
    let message = parse_mapping(&text).unwrap_err().to_string();
    assert_eq!(message, "error converting YAML to JSON: yaml: document contains excessive aliasing");
}

#[test]
fn a_merge_bomb_is_refused_quickly() {
    let mut text = String::from("a0: &a0 {k: v}\n");
    for i in 1..30 {
        writeln!(text, "a{i}: &a{i} {{<<: [*a{0}, *a{0}, *a{0}]}}", i - 1).unwrap();
    }
    assert!(parse_mapping(&text).is_err());
}

#[test]
fn deep_nesting_is_refused() {
    assert!(parse_mapping(&format!("a: {}{}", "[".repeat(5000), "]".repeat(5000))).is_err());
    assert!(parse_mapping(&format!("a: {}1{}", "[".repeat(90), "]".repeat(90))).is_ok());
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "[-a-z0-9:{}\\[\\],&*<! \n'\"|>#?%@.~]{0,80}") {
        let _ = read_mapping(&text);
        let _ = documents(&text);
    }
}
