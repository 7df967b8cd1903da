//! Applying a compiled schema to a value. What is reported together, in which order, and which branch of `anyOf` counts
//! as the closest (the score) follows the Go library; sibling keys are visited in the order of their names.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::Violation;
use super::node::{Additional, Bounds, Dependency, Items, Node, NodeId, Schema, Type};
use super::number::Decimal;
use super::print::go_json;

/// Work per validation; real inputs need some thousand.
const BUDGET: usize = 1_000_000;

/// Nesting of values and schemas together.
const MAX_DEPTH: usize = 250;

impl Schema {
    /// Everything that is wrong with `input`; empty if it is valid.
    pub fn validate(&self, input: &Value) -> Vec<Violation> {
        let mut run = Run { schema: self, budget: BUDGET, depth: 0, exhausted: false };
        let mut result = run.check(self.root, input, &Path::Root);
        if run.exhausted {
            result.fail(&Path::Root, "The input is too large or too deeply nested to be validated");
        }
        result.violations
    }
}

/// Where in the input we are.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn text(&self) -> String {
        let mut parts = Vec::new();
        let mut at = self;
        loop {
            at = match at {
                Path::Root => break,
                Path::Key(parent, key) => {
                    parts.push((*key).to_owned());
                    parent
                }
                Path::Index(parent, index) => {
                    parts.push(index.to_string());
                    parent
                }
            };
        }
        if parts.is_empty() {
            return "(root)".to_owned();
        }
        parts.reverse();
        parts.join(".")
    }
}

#[derive(Default)]
struct Outcome {
    violations: Vec<Violation>,
    /// How much of the schema fits: decides which branch is the closest.
    score: i64,
}

impl Outcome {
    fn fail(&mut self, path: &Path<'_>, text: impl Into<String>) {
        self.violations.push(Violation { path: path.text(), text: text.into() });
        // Together with the point that every passed stage gives, this is a net loss of one.
        self.score -= 2;
    }

    fn merge(&mut self, other: Outcome) {
        self.violations.extend(other.violations);
        self.score += other.score;
    }

    fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Keeps the better of two failures, the first of equals.
fn closest(best: Option<Outcome>, other: Outcome) -> Outcome {
    match best {
        Some(best) if best.score >= other.score => best,
        _ => other,
    }
}

struct Run<'a> {
    schema: &'a Schema,
    budget: usize,
    depth: usize,
    exhausted: bool,
}

impl<'a> Run<'a> {
    fn check(&mut self, id: NodeId, value: &Value, path: &Path<'_>) -> Outcome {
        let mut out = Outcome::default();
        self.visit(id, value, path, &mut out);
        out
    }

    fn visit(&mut self, id: NodeId, value: &Value, path: &Path<'_>, out: &mut Outcome) {
        let Some(node) = self.schema.nodes.get(id) else { return };
        if self.budget == 0 || self.depth >= MAX_DEPTH {
            self.exhausted = true;
            return;
        }
        self.budget -= 1;
        self.depth += 1;
        self.node(node, value, path, out);
        self.depth -= 1;
    }

    fn node(&mut self, node: &'a Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
        if let Some(pass) = node.pass {
            if !pass {
                out.fail(path, "False always fails validation");
            }
            return;
        }
        if let Some(reference) = node.reference {
            self.visit(reference, value, path, out);
            return;
        }
        if let Some(given) = wrong_type(node, value) {
            let expected = match node.types.as_slice() {
                [one] => one.as_str().to_owned(),
                many => format!("[{}]", many.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(",")),
            };
            out.fail(path, format!("Invalid type. Expected: {expected}, given: {}", given.as_str()));
            return;
        }
        self.combinators(node, value, path, out);
        match value {
            Value::Number(number) => {
                numbers(node, number, path, out);
                common(node, value, path, out);
            }
            Value::String(text) => {
                common(node, value, path, out);
                strings(node, text, path, out);
            }
            Value::Array(list) => {
                self.array(node, list, path, out);
                common(node, value, path, out);
            }
            Value::Object(map) => {
                self.object(node, map, path, out);
                common(node, value, path, out);
                for (name, &id) in &node.properties {
                    if let Some(value) = map.get(name) {
                        self.visit(id, value, &Path::Key(path, name), out);
                    }
                }
            }
            Value::Null | Value::Bool(_) => common(node, value, path, out),
        }
        out.score += 1;
    }

    fn combinators(&mut self, node: &'a Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
        if !node.any_of.is_empty() {
            let mut best = None;
            let mut valid = false;
            for &id in &node.any_of {
                let branch = self.check(id, value, path);
                if branch.is_valid() {
                    valid = true;
                    break;
                }
                best = Some(closest(best, branch));
            }
            if !valid {
                out.fail(path, "Must validate at least one schema (anyOf)");
                out.merge(best.unwrap_or_default());
            }
        }
        if !node.one_of.is_empty() {
            let mut best = None;
            let mut valid = 0;
            for &id in &node.one_of {
                let branch = self.check(id, value, path);
                if branch.is_valid() {
                    valid += 1;
                } else if valid == 0 {
                    best = Some(closest(best, branch));
                }
            }
            if valid != 1 {
                out.fail(path, "Must validate one and only one schema (oneOf)");
                if valid == 0 {
                    out.merge(best.unwrap_or_default());
                }
            }
        }
        let mut all = true;
        for &id in &node.all_of {
            let branch = self.check(id, value, path);
            all &= branch.is_valid();
            out.merge(branch);
        }
        if !all {
            out.fail(path, "Must validate all the schemas (allOf)");
        }
        if let Some(id) = node.not
            && self.check(id, value, path).is_valid()
        {
            out.fail(path, "Must not validate the schema (not)");
        }
        if let Value::Object(map) = value {
            self.dependencies(node, value, map, path, out);
        }
        if let Some(condition) = node.condition {
            let holds = self.check(condition, value, path).is_valid();
            let (branch, text) = if holds {
                (node.then, r#"Must validate "then" as "if" was valid"#)
            } else {
                (node.otherwise, r#"Must validate "else" as "if" was not valid"#)
            };
            if let Some(id) = branch {
                let branch = self.check(id, value, path);
                if !branch.is_valid() {
                    out.fail(path, text);
                    out.merge(branch);
                }
            }
        }
        out.score += 1;
    }

    fn dependencies(
        &mut self,
        node: &'a Node,
        value: &Value,
        map: &Map<String, Value>,
        path: &Path<'_>,
        out: &mut Outcome,
    ) {
        for (key, dependency) in &node.dependencies {
            if !map.contains_key(key) {
                continue;
            }
            match dependency {
                Dependency::Keys(keys) => {
                    for missing in keys.iter().filter(|k| !map.contains_key(*k)) {
                        out.fail(path, format!("Has a dependency on {missing}"));
                    }
                }
                Dependency::Schema(id) => self.visit(*id, value, path, out),
            }
        }
    }

    fn array(&mut self, node: &'a Node, list: &[Value], path: &Path<'_>, out: &mut Outcome) {
        match &node.items {
            Items::Free => {}
            Items::Each(id) => {
                for (i, value) in list.iter().enumerate() {
                    self.visit(*id, value, &Path::Index(path, i), out);
                }
            }
            Items::Positions(ids) => {
                for (i, (id, value)) in ids.iter().zip(list).enumerate() {
                    self.visit(*id, value, &Path::Index(path, i), out);
                }
                if !ids.is_empty() && list.len() > ids.len() {
                    match node.additional_items {
                        Additional::Free => {}
                        Additional::Forbidden => out.fail(path, "No additional items allowed on array"),
                        Additional::Schema(id) => {
                            for (i, value) in list.iter().enumerate().skip(ids.len()) {
                                self.visit(id, value, &Path::Index(path, i), out);
                            }
                        }
                    }
                }
            }
        }
        let Bounds { min, max } = node.item_count;
        if let Some(min) = min.filter(|min| list.len() < *min) {
            out.fail(path, format!("Array must have at least {min} items"));
        }
        if let Some(max) = max.filter(|max| list.len() > *max) {
            out.fail(path, format!("Array must have at most {max} items"));
        }
        if node.unique {
            let mut seen = BTreeMap::new();
            for (j, value) in list.iter().enumerate() {
                if let Some(i) = seen.insert(go_json(value), j) {
                    out.fail(path, format!("array items[{i},{j}] must be unique"));
                }
            }
        }
        if let Some(id) = node.contains {
            let mut best = None;
            let mut found = false;
            for (i, value) in list.iter().enumerate() {
                let item = self.check(id, value, &Path::Index(path, i));
                if item.is_valid() {
                    found = true;
                    break;
                }
                best = Some(closest(best, item));
            }
            if !found {
                out.fail(path, "At least one of the items must match");
                out.merge(best.unwrap_or_default());
            }
        }
        out.score += 1;
    }

    fn object(&mut self, node: &'a Node, map: &Map<String, Value>, path: &Path<'_>, out: &mut Outcome) {
        let Bounds { min, max } = node.property_count;
        if let Some(min) = min.filter(|min| map.len() < *min) {
            out.fail(path, format!("Must have at least {min} properties"));
        }
        if let Some(max) = max.filter(|max| map.len() > *max) {
            out.fail(path, format!("Must have at most {max} properties"));
        }
        for name in &node.required {
            if map.contains_key(name) {
                out.score += 1;
            } else {
                out.fail(path, format!("{name} is required"));
            }
        }
        for (key, value) in map {
            let here = Path::Key(path, key);
            let mut matched = false;
            for (_, id) in node.patterns.iter().filter(|(regex, _)| regex.is_match(key)) {
                self.visit(*id, value, &here, out);
                matched = true;
            }
            if matched {
                out.score += 1;
            } else if !node.properties.contains_key(key) {
                match node.additional {
                    Additional::Free => {}
                    Additional::Forbidden => {
                        out.fail(path, format!("Additional property {key} is not allowed"));
                    }
                    Additional::Schema(id) => self.visit(id, value, &here, out),
                }
            }
        }
        if let Some(id) = node.names {
            for key in map.keys() {
                let name = self.check(id, &Value::String(key.clone()), path);
                if !name.is_valid() {
                    out.fail(path, format!("Property name of \"{key}\" does not match"));
                    out.merge(name);
                }
            }
        }
        out.score += 1;
    }
}

/// The type of `value` if the node does not take it.
fn wrong_type(node: &Node, value: &Value) -> Option<Type> {
    let given = match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Boolean,
        Value::Number(number) if Decimal::of(number).is_integer() => Type::Integer,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::String,
        Value::Array(_) => Type::Array,
        Value::Object(_) => Type::Object,
    };
    let fits = node.types.is_empty()
        || node.types.contains(&given)
        || (given == Type::Integer && node.types.contains(&Type::Number));
    (!fits).then_some(given)
}

fn common(node: &Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
    if node.constant.is_some() || !node.allowed.is_empty() {
        let text = go_json(value);
        if let Some(wanted) = node.constant.as_ref().filter(|wanted| **wanted != text) {
            out.fail(path, format!("{} does not match: {wanted}", path.text()));
        }
        if !node.allowed.is_empty() && !node.allowed.contains(&text) {
            let allowed = node.allowed.join(", ");
            out.fail(path, format!("{} must be one of the following: {allowed}", path.text()));
        }
    }
    out.score += 1;
}

fn strings(node: &Node, text: &str, path: &Path<'_>, out: &mut Outcome) {
    let Bounds { min, max } = node.length;
    if min.is_some() || max.is_some() {
        let length = text.chars().count();
        if let Some(min) = min.filter(|min| length < *min) {
            out.fail(path, format!("String length must be greater than or equal to {min}"));
        }
        if let Some(max) = max.filter(|max| length > *max) {
            out.fail(path, format!("String length must be less than or equal to {max}"));
        }
    }
    if let Some((source, regex)) = &node.pattern
        && !regex.is_match(text)
    {
        out.fail(path, format!("Does not match pattern '{source}'"));
    }
    if let Some((name, format)) = &node.format
        && !format.holds(text)
    {
        out.fail(path, format!("Does not match format '{name}'"));
    }
    out.score += 1;
}

fn numbers(node: &Node, number: &Number, path: &Path<'_>, out: &mut Outcome) {
    let value = Decimal::of(number);
    if let Some(step) = node.multiple_of.filter(|step| !value.is_multiple_of(*step)) {
        out.fail(path, format!("Must be a multiple of {}", step.go_text()));
    }
    if let Some(max) = node.maximum.filter(|max| value.compare(*max) == Ordering::Greater) {
        out.fail(path, format!("Must be less than or equal to {}", max.go_text()));
    }
    if let Some(max) = node.below.filter(|max| value.compare(*max) != Ordering::Less) {
        out.fail(path, format!("Must be less than {}", max.go_text()));
    }
    if let Some(min) = node.minimum.filter(|min| value.compare(*min) == Ordering::Less) {
        out.fail(path, format!("Must be greater than or equal to {}", min.go_text()));
    }
    if let Some(min) = node.above.filter(|min| value.compare(*min) != Ordering::Greater) {
        out.fail(path, format!("Must be greater than {}", min.go_text()));
    }
    if let Some((name, _)) = &node.format {
        // All known formats are formats of text.
        out.fail(path, format!("Does not match format '{name}'"));
    }
    out.score += 1;
}
