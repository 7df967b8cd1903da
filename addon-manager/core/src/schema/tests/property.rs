//! Nothing panics, and verdicts agree with a general validator of draft 7 where both mean the same.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4_i64..12).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(2.5), Just(-3.0), Just(1e30)].prop_map(Value::from),
        prop_oneof![Just(""), Just("a"), Just("ab"), Just("b1"), Just("2026-08-22")].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Schemas of draft 7 that compile, in which both validators mean the same.
fn any_schema() -> impl Strategy<Value = Value> {
    let types = prop_oneof![
        Just("array"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("null"),
        Just("object"),
        Just("string")
    ];
    let keys = prop::collection::btree_set("[abc]", 0..3).prop_map(|s| json!(s));
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        types.prop_map(|t| json!({"type": t})),
        prop::collection::vec(any_json(), 1..3).prop_filter_map("unique", |list| {
            let schema = json!({"enum": list});
            compile(&schema).is_ok().then_some(schema)
        }),
        any_json().prop_map(|v| json!({"const": v})),
        (0..4_u8, 0..4_u8).prop_map(|(a, b)| json!({"minLength": a.min(b), "maxLength": a.max(b)})),
        (-3..6_i64).prop_map(|n| json!({"minimum": n})),
        (-3..6_i64).prop_map(|n| json!({"exclusiveMaximum": n})),
        prop_oneof![Just(0.5), Just(2.0), Just(3.0)].prop_map(|n| json!({"multipleOf": n})),
        (0..3_u8).prop_map(|n| json!({"minItems": n, "uniqueItems": true})),
        (0..3_u8).prop_map(|n| json!({"maxItems": n})),
        (0..3_u8).prop_map(|n| json!({"minProperties": n, "maxProperties": 2.max(n)})),
        keys.prop_map(|k| json!({"required": k})),
        prop_oneof![Just("^a"), Just("b$"), Just("[0-9]")].prop_map(|p| json!({"pattern": p})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3).prop_map(Value::from);
        let map = prop::collection::btree_map("[abc]", inner.clone(), 0..3).prop_map(|m| json!(m));
        prop_oneof![
            (map.clone(), inner.clone())
                .prop_map(|(p, a)| json!({"properties": p, "additionalProperties": a})),
            inner.clone().prop_map(|s| json!({"items": s})),
            (list.clone(), inner.clone()).prop_map(|(l, a)| json!({"items": l, "additionalItems": a})),
            inner.clone().prop_map(|s| json!({"contains": s})),
            inner.clone().prop_map(|s| json!({"propertyNames": s})),
            inner.clone().prop_map(|s| json!({"not": s})),
            inner.clone().prop_map(|s| json!({"patternProperties": {"^[ab]": s}})),
            map.prop_map(|m| json!({"dependencies": m})),
            list.clone().prop_map(|l| json!({"anyOf": l})),
            list.clone().prop_map(|l| json!({"oneOf": l})),
            list.prop_map(|l| json!({"allOf": l})),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(i, t, e)| json!({"if": i, "then": t, "else": e})),
        ]
    })
}

/// Anything under keyword names: most of it is no schema.
fn any_document() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "$ref",
        "$id",
        "$schema",
        "type",
        "properties",
        "items",
        "required",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "pattern",
        "format",
        "dependencies",
        "definitions",
        "contains",
        "propertyNames",
        "patternProperties",
        "uniqueItems",
        "additionalProperties",
        "additionalItems",
        "maxItems",
        "title",
    ]);
    let word = prop_oneof![
        "\\PC{0,6}",
        Just("#".to_owned()),
        Just("#/properties/a".to_owned()),
        Just("object".to_owned())
    ];
    let leaf = prop_oneof![
        any_json(),
        word.prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keyword.clone(), inner.clone(), 0..5)
                .prop_map(|m| Value::Object(m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_panics(document in any_document(), input in any_document()) {
        if let Ok(schema) = compile(&document) {
            let once = schema.validate(&input);
            prop_assert_eq!(once, schema.validate(&input));
        }
        let mut changed = document.clone();
        forbid_unknown(&mut changed);
        strip_required(&mut changed);
        let _ = clear_properties(&mut changed, "t");
    }

    #[test]
    fn verdicts_agree_with_a_general_validator(schema in any_schema(), input in any_json()) {
        let general = jsonschema::draft7::new(&schema).unwrap().is_valid(&input);
        let ours = compile(&schema).unwrap().validate(&input);
        prop_assert_eq!(ours.is_empty(), general, "{:?}", ours);
    }
}
