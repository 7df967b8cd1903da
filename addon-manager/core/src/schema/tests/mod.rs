mod property;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn problems(schema: &Value, input: &Value) -> String {
    let violations = compile(schema).unwrap().validate(input);
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[rstest]
#[case::required(r#"{"required":["b","a"]}"#, "{}", "(root): b is required; (root): a is required")]
#[case::kind(r#"{"type":"object"}"#, "[]", "(root): Invalid type. Expected: object, given: array")]
#[case::kinds(
    r#"{"type":["string","integer"]}"#,
    "1.5",
    "(root): Invalid type. Expected: [string,integer], given: number"
)]
#[case::integer_given(r#"{"type":"string"}"#, "7", "(root): Invalid type. Expected: string, given: integer")]
#[case::null_given(r#"{"type":"string"}"#, "null", "(root): Invalid type. Expected: string, given: null")]
#[case::bool_given(r#"{"type":"null"}"#, "true", "(root): Invalid type. Expected: null, given: boolean")]
#[case::integral_float(r#"{"type":"integer"}"#, "3.0", "")]
#[case::nullable_is_ignored(
    r#"{"type":"string","nullable":true}"#,
    "null",
    "(root): Invalid type. Expected: string, given: null"
)]
#[case::unknown(
    r#"{"properties":{"a":{}},"additionalProperties":false}"#,
    r#"{"a":1,"b":2}"#,
    "(root): Additional property b is not allowed"
)]
#[case::additional_schema(
    r#"{"properties":{"m":{"additionalProperties":{"type":"string"}}}}"#,
    r#"{"m":{"k":1}}"#,
    "m.k: Invalid type. Expected: string, given: integer"
)]
#[case::path(
    r#"{"properties":{"n":{"items":{"required":["h"]}}}}"#,
    r#"{"n":[{"h":1},{}]}"#,
    "n.1: h is required"
)]
#[case::words(
    r#"{"enum":[1,"two",null]}"#,
    "3",
    r#"(root): (root) must be one of the following: 1, "two", null"#
)]
#[case::word_path(
    r#"{"properties":{"m":{"enum":["on","off"]}}}"#,
    r#"{"m":"x"}"#,
    r#"m: m must be one of the following: "on", "off""#
)]
#[case::constant(r#"{"properties":{"f":{"const":"gold"}}}"#, r#"{"f":1}"#, r#"f: f does not match: "gold""#)]
#[case::constant_number(r#"{"const":3}"#, "3.0", "")]
#[case::length(
    r#"{"minLength":3,"pattern":"^[A-Z]+$"}"#,
    r#""a""#,
    "(root): String length must be greater than or equal to 3; (root): Does not match pattern '^[A-Z]+$'"
)]
#[case::too_long(r#"{"maxLength":2}"#, r#""äöü""#, "(root): String length must be less than or equal to 2")]
#[case::format(r#"{"format":"ipv4"}"#, r#""x""#, "(root): Does not match format 'ipv4'")]
#[case::format_unknown(r#"{"format":"int32"}"#, r#""x""#, "")]
#[case::format_of_number(r#"{"format":"ipv4"}"#, "1", "(root): Does not match format 'ipv4'")]
#[case::minimum(r#"{"minimum":2,"maximum":5}"#, "1", "(root): Must be greater than or equal to 2")]
#[case::maximum(r#"{"maximum":5}"#, "6", "(root): Must be less than or equal to 5")]
#[case::above(r#"{"exclusiveMinimum":0}"#, "0", "(root): Must be greater than 0")]
#[case::below(r#"{"exclusiveMaximum":1}"#, "1.0", "(root): Must be less than 1")]
#[case::above_of_draft_4(r#"{"minimum":1,"exclusiveMinimum":true}"#, "1", "(root): Must be greater than 1")]
#[case::above_off(r#"{"minimum":1,"exclusiveMinimum":false}"#, "1", "")]
#[case::large_limit(r#"{"maximum":1000000}"#, "1000001", "(root): Must be less than or equal to 1e+06")]
#[case::step(r#"{"multipleOf":4}"#, "6", "(root): Must be a multiple of 4")]
#[case::step_is_decimal(r#"{"multipleOf":0.1}"#, "0.3", "")]
#[case::min_items(r#"{"minItems":1}"#, "[]", "(root): Array must have at least 1 items")]
#[case::max_items(r#"{"maxItems":1}"#, "[1,2]", "(root): Array must have at most 1 items")]
#[case::unique(
    r#"{"uniqueItems":true}"#,
    r#"["a",1,"a",1.0]"#,
    "(root): array items[0,2] must be unique; (root): array items[1,3] must be unique"
)]
#[case::few_properties(r#"{"minProperties":1}"#, "{}", "(root): Must have at least 1 properties")]
#[case::many_properties(
    r#"{"maxProperties":1}"#,
    r#"{"a":1,"b":1}"#,
    "(root): Must have at most 1 properties"
)]
#[case::any_shows_the_closest(
    r#"{"anyOf":[{"type":"integer"},{"type":"object","required":["a","b"]}]}"#,
    r#"{"a":1}"#,
    "(root): Must validate at least one schema (anyOf); (root): b is required"
)]
#[case::any_of_equals_shows_the_first(
    r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
    "true",
    "(root): Must validate at least one schema (anyOf); (root): Invalid type. Expected: string, given: boolean"
)]
#[case::one_of_none(
    r#"{"oneOf":[{"type":"integer"},{"type":"boolean"}]}"#,
    r#""x""#,
    "(root): Must validate one and only one schema (oneOf); (root): Invalid type. Expected: integer, given: string"
)]
#[case::one_of_two(r#"{"oneOf":[{},{}]}"#, "1", "(root): Must validate one and only one schema (oneOf)")]
#[case::all(
    r#"{"allOf":[{"minLength":5},{"pattern":"^a"}]}"#,
    r#""bb""#,
    "(root): String length must be greater than or equal to 5; (root): Does not match pattern '^a'; \
     (root): Must validate all the schemas (allOf)"
)]
#[case::not(r#"{"not":{"type":"string"}}"#, r#""x""#, "(root): Must not validate the schema (not)")]
#[case::then(
    r#"{"if":{"required":["k"]},"then":{"required":["cert"]}}"#,
    r#"{"k":1}"#,
    r#"(root): Must validate "then" as "if" was valid; (root): cert is required"#
)]
#[case::otherwise(
    r#"{"if":{"required":["k"]},"else":{"required":["n"]}}"#,
    "{}",
    r#"(root): Must validate "else" as "if" was not valid; (root): n is required"#
)]
#[case::dependency(
    r#"{"dependencies":{"user":["pass"]}}"#,
    r#"{"user":1}"#,
    "(root): Has a dependency on pass"
)]
#[case::dependency_schema(
    r#"{"dependencies":{"user":{"required":["p"]}}}"#,
    r#"{"user":1}"#,
    "(root): p is required"
)]
#[case::contains(
    r#"{"contains":{"const":"x"}}"#,
    r#"["y"]"#,
    r#"(root): At least one of the items must match; 0: 0 does not match: "x""#
)]
#[case::names(
    r#"{"propertyNames":{"pattern":"^[a-z]+$"}}"#,
    r#"{"A1":1}"#,
    "(root): Property name of \"A1\" does not match; (root): Does not match pattern '^[a-z]+$'"
)]
#[case::positions(
    r#"{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}"#,
    r#"["a","b","c"]"#,
    "1: Invalid type. Expected: integer, given: string; (root): No additional items allowed on array"
)]
#[case::pattern_properties(
    r#"{"patternProperties":{"^n_":{"type":"integer"}},"additionalProperties":false}"#,
    r#"{"m":1,"n_a":"x"}"#,
    "(root): Additional property m is not allowed; n_a: Invalid type. Expected: integer, given: string"
)]
#[case::wrong_type_hides_the_rest(
    r#"{"type":"object","required":["a"],"minProperties":1}"#,
    "[]",
    "(root): Invalid type. Expected: object, given: array"
)]
#[case::default_is_not_applied(
    r#"{"required":["a"],"properties":{"a":{"default":1}}}"#,
    "{}",
    "(root): a is required"
)]
#[case::never(r#"{"properties":{"a":false}}"#, r#"{"a":1}"#, "a: False always fails validation")]
#[case::reference(
    r##"{"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}"##,
    r#"{"a":1}"#,
    "a: Invalid type. Expected: string, given: integer"
)]
#[case::recursive(
    r##"{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}"##,
    r#"{"next":{"next":{"v":"x"}}}"#,
    "next.next.v: Invalid type. Expected: integer, given: string"
)]
#[case::named_reference(
    r##"{"definitions":{"s":{"$id":"#s","type":"string"}},"properties":{"a":{"$ref":"#s"}}}"##,
    r#"{"a":1}"#,
    "a: Invalid type. Expected: string, given: integer"
)]
#[case::draft_4_does_not_know_const(
    r#"{"$schema":"http://json-schema.org/draft-04/schema#","const":1,"if":false,"then":false}"#,
    "2",
    ""
)]
#[case::draft_6_does_not_know_if(
    r#"{"$schema":"http://json-schema.org/draft-06/schema#","if":true,"then":false,"const":1}"#,
    "2",
    "(root): (root) does not match: 1"
)]
fn reports(#[case] schema: &str, #[case] input: &str, #[case] wanted: &str) {
    assert_eq!(problems(&read(schema), &read(input)), wanted);
}

#[rstest]
#[case(r#"{"pattern":"("}"#, "pattern must be a valid regex")]
#[case(r#"{"pattern":"(?=a)"}"#, "pattern must be a valid regex")]
#[case(r#"{"pattern":"a{1001}"}"#, "pattern must be a valid regex")]
#[case(
    r#"{"properties":{"a":{"type":"text"}}}"#,
    "has a primitive type that is NOT VALID -- given: /text/ Expected valid values are:[array boolean integer number null object string]"
)]
#[case(r##"{"$ref":"#/definitions/a"}"##, "Object has no key 'definitions'")]
#[case(r##"{"anyOf":[{}],"items":{"$ref":"#/anyOf/1"}}"##, "Out of bound array[0,1] index '1'")]
#[case(
    r#"{"$ref":"https://example.org/a.json"}"#,
    "Reference https://example.org/a.json leads out of the schema"
)]
#[case(r#"{"$ref":"file:///etc/passwd"}"#, "Reference file:///etc/passwd leads out of the schema")]
#[case(r##"{"$ref":"#"}"##, "Reference leads back to itself without going into the value")]
#[case(r#"{"minLength":-1}"#, "minLength must be greater than or equal to 0")]
#[case(r#"{"minLength":"1"}"#, "minLength must be of an integer")]
#[case(r#"{"minLength":3,"maxLength":2}"#, "minLength cannot be greater than maxLength")]
#[case(r#"{"minimum":"1"}"#, "minimum must be of a number")]
#[case(r#"{"exclusiveMaximum":true}"#, "exclusiveMaximum cannot be used without maximum")]
#[case(r#"{"exclusiveMaximum":"x"}"#, "Invalid type. Expected: boolean/number, given: exclusiveMaximum")]
#[case(r#"{"multipleOf":0}"#, "multipleOf must be strictly greater than 0")]
#[case(r#"{"required":"a"}"#, "required must be of an array")]
#[case(r#"{"required":["a","a"]}"#, "required items must be unique")]
#[case(r#"{"enum":[1,1.0]}"#, "enum items must be unique")]
#[case(r#"{"type":["string","string"]}"#, "string type is duplicated")]
#[case(r#"{"type":1}"#, "Invalid type. Expected: string/array of strings, given: type")]
#[case(r#"{"items":1}"#, "Invalid type. Expected: valid schema/array of schemas, given: items")]
#[case(
    r#"{"additionalProperties":1}"#,
    "Invalid type. Expected: boolean/valid schema, given: additionalProperties"
)]
#[case(r#"{"not":1}"#, "not must be of an object")]
#[case(r#"{"anyOf":{}}"#, "anyOf must be of an array")]
#[case(r#"{"patternProperties":{"(":{}}}"#, "Invalid regex pattern '('")]
#[case("[]", "Expected: valid schema, given: Invalid JSON")]
#[case(
    r#"{"$schema":"http://json-schema.org/draft-04/schema","not":true}"#,
    "Expected: valid schema, given: Invalid JSON"
)]
fn refuses_schemas(#[case] schema: &str, #[case] wanted: &str) {
    assert_eq!(compile(&read(schema)).unwrap_err().to_string(), wanted);
}

#[test]
fn texts_are_joined() {
    let schema =
        json!({"required": ["a"], "additionalProperties": false, "properties": {"c": {"type": "string"}}});
    assert_eq!(
        check(&schema, &json!({"b": 1, "c": 1})).unwrap_err().to_string(),
        "invalid input: (root): a is required; (root): Additional property b is not allowed; \
         c: Invalid type. Expected: string, given: integer"
    );
    assert_eq!(check(&json!({"required": ["a"]}), &json!({"a": 1})), Ok(()));
    assert_eq!(
        check(&json!({"pattern": "("}), &json!({})).unwrap_err().to_string(),
        "failed when validating the input against the schema: pattern must be a valid regex"
    );
}

#[rstest]
#[case(r"^\d+$", "٣", false)]
#[case(r"^\d+$", "3", true)]
#[case(r"^[^\d]$", "٣", true)]
#[case(r"^[\D]$", "3", false)]
#[case(r"^\w+$", "ä", false)]
#[case(r"^[[a]+$", "[a", true)]
#[case(r"^[a&&b]+$", "&", true)]
#[case(r"^{.*}$", "{x}", true)]
#[case(r"^a{2}$", "aa", true)]
#[case(r"^a{,2}$", "a{,2}", true)]
#[case(r"^\Qa.b\E$", "a.b", true)]
#[case(r"^\Qa.b\E$", "axb", false)]
#[case(r"^[a-]$", "-", true)]
#[case(r"^[-a]$", "-", true)]
#[case(r"^[]a]$", "]", true)]
#[case(r"^[[:alpha:]_]$", "_", true)]
#[case(r"\bfoo\b", "a foo b", true)]
#[case(r"^[\w.-]+$", "a.b-c", true)]
#[case(r"^.$", "ä", true)]
#[case(r"^\p{L}$", "ä", true)]
fn patterns_mean_what_go_means(#[case] source: &str, #[case] text: &str, #[case] wanted: bool) {
    assert_eq!(pattern::compile(source).unwrap().is_match(text), wanted);
}

#[rstest]
#[case("0", "0")]
#[case("100000", "100000")]
#[case("999999", "999999")]
#[case("1234567", "1.234567e+06")]
#[case("-5", "-5")]
#[case("0.5", "0.5")]
#[case("12.25", "12.25")]
#[case("0.0001", "0.0001")]
#[case("0.00001", "1e-05")]
fn numbers_print_as_in_go(#[case] number: &str, #[case] wanted: &str) {
    let Value::Number(number) = read(number) else { panic!() };
    assert_eq!(number::Decimal::of(&number).go_text(), wanted);
}

#[rstest]
#[case(
    r#"{"b":[1,2.50,true,null],"a":"<&>\u2028"}"#,
    r#"{"a":"\u003c\u0026\u003e\u2028","b":[1,2.5,true,null]}"#
)]
#[case("1e21", "1e+21")]
#[case("1e20", "100000000000000000000")]
#[case("1e-7", "1e-7")]
#[case("0.000001", "0.000001")]
#[case(r#""\u0001\b""#, r#""\u0001\b""#)]
fn json_prints_as_in_go(#[case] value: &str, #[case] wanted: &str) {
    assert_eq!(go_json(&read(value)), wanted);
}

#[test]
fn unknown_keys_are_forbidden_through_properties_and_items_only() {
    let mut schema = json!({
        "properties": {
            "open": {"type": "object"},
            "mapped": {"additionalProperties": {"type": "string"}},
            "given": {"properties": {}, "additionalProperties": true},
            "list": {"items": {"properties": {"deep": {"properties": {}}}}},
            "other": {"anyOf": [{"properties": {}}]},
        },
    });
    forbid_unknown(&mut schema);
    assert_eq!(
        schema,
        json!({
            "additionalProperties": false,
            "properties": {
                "open": {"type": "object"},
                "mapped": {"additionalProperties": {"type": "string"}},
                "given": {"properties": {}, "additionalProperties": true},
                "list": {"items": {
                    "additionalProperties": false,
                    "properties": {"deep": {"properties": {}, "additionalProperties": false}},
                }},
                "other": {"anyOf": [{"properties": {}}]},
            },
        })
    );
}

#[test]
fn required_goes_where_properties_are() {
    let mut schema = json!({
        "required": ["a"],
        "properties": {
            "a": {"required": ["kept"], "items": {"required": ["b"], "properties": {"required": {"type": "string"}}}},
        },
    });
    strip_required(&mut schema);
    assert_eq!(
        schema,
        json!({"properties": {
            "a": {"required": ["kept"], "items": {"properties": {"required": {"type": "string"}}}},
        }})
    );
}

/// Scenario 8 of spec/02: a partial hardware entry is no matter of the whole-input check (B-21).
#[test]
fn s02_008_sub_schemas_are_cleared() {
    let mut schema = json!({
        "required": ["clusterInstanceParameters"],
        "properties": {
            "nodeClusterName": {"type": "string"},
            "clusterInstanceParameters": {"type": "object", "required": ["x"], "properties": {"x": {}}},
            "policyTemplateParameters": {"type": "object", "additionalProperties": false, "properties": {}},
            "hwMgmtParameters": {"type": "object", "properties": {"nodeGroupData": {"items": {"required": ["role"]}}}},
        },
    });
    clear_properties(&mut schema, "a.v1").unwrap();
    let input = json!({
        "clusterInstanceParameters": {"y": 1},
        "policyTemplateParameters": {"z": "1"},
        "hwMgmtParameters": {"nodeGroupData": [{"name": "master"}]},
    });
    assert_eq!(problems(&schema, &input), "");
    // s02_009
    assert_eq!(
        problems(&schema, &json!({"clusterInstanceParameters": {}, "hwMgmtParameters": "x"})),
        "hwMgmtParameters: Invalid type. Expected: object, given: string"
    );
}

#[rstest]
#[case(json!({}), "missing keyword 'properties' in the schema from ClusterTemplate (a.v1)")]
#[case(json!({"properties": {"clusterInstanceParameters": {}}}),
    "missing required property 'policyTemplateParameters' in the schema from ClusterTemplate (a.v1)")]
fn clearing_names_what_is_missing(#[case] mut schema: Value, #[case] wanted: &str) {
    assert_eq!(clear_properties(&mut schema, "a.v1").unwrap_err().to_string(), wanted);
}

/// Scenarios 4 to 7 of spec/02 19.1.
#[rstest]
#[case::s02_004(json!({"nodes": [{}]}), "nodes.0: hostName is required")]
#[case::s02_005(json!({"extraLabels": {"ManagedCluster": []}}),
    "extraLabels.ManagedCluster: Invalid type. Expected: object, given: array")]
#[case::s02_006(json!({"clusterType": "SNO"}), "(root): Additional property clusterType is not allowed")]
#[case::s02_007(json!({}), "")]
fn cluster_instance_input(#[case] input: Value, #[case] wanted: &str) {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "nodes": {"type": "array", "items": {
                "type": "object", "required": ["hostName"], "properties": {"hostName": {"type": "string"}},
            }},
            "extraLabels": {"type": "object", "additionalProperties": {
                "type": "object", "additionalProperties": {"type": "string"},
            }},
            "pullSecretRef": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
    });
    forbid_unknown(&mut schema);
    assert_eq!(problems(&schema, &input), wanted);
}

#[test]
fn deep_values_and_wide_schemas_end() {
    let mut value = json!(1);
    for _ in 0..600 {
        value = Value::Array(vec![value]);
    }
    let schema = compile(&json!({"items": {"$ref": "#"}})).unwrap();
    assert!(schema.validate(&value)[0].text.contains("too deeply nested"));

    let mut definitions = json!({"d0": {"type": "string"}});
    for i in 1..60 {
        let below = format!("#/definitions/d{}", i - 1);
        definitions[format!("d{i}")] = json!({"anyOf": [{"$ref": below}, {"$ref": below}]});
    }
    let schema = json!({"definitions": definitions, "$ref": "#/definitions/d59"});
    assert!(!compile(&schema).unwrap().validate(&json!(1)).is_empty());

    let mut schema = json!({});
    for _ in 0..600 {
        schema = Value::Object(std::iter::once(("not".to_owned(), schema)).collect());
    }
    assert!(compile(&schema).unwrap_err().to_string().contains("nested deeper"));
}
