//! Differences between two cluster data trees, and what they mean after installation (spec/02 5.3, spec/01 8.2.1).
//!
//! Lists are compared as multisets first, so order alone is no difference. What remains is paired by name: groups by
//! `name`, nodes by `hostName` (B-13); what remains then is paired by index, which makes a rename in place a swap.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What happened at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only the new side has it.
    Create,
    /// Both sides have it, with different values.
    Update,
    /// Only the old side has it, or the new side is `null` (B-13).
    Delete,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub kind: Kind,
    /// Keys and list indexes from the root. The index of an element that both sides have is that of the new side.
    pub path: Vec<String>,
}

impl Change {
    /// The path as messages show it.
    pub fn dotted(&self) -> String {
        self.path.join(".")
    }
}

/// Every difference between `old` and `new`, in the order of the keys.
pub fn diff(old: &Value, new: &Value) -> Vec<Change> {
    let mut out = Vec::new();
    compare(old, new, &mut Vec::new(), &mut out);
    out
}

fn compare(old: &Value, new: &Value, path: &mut Vec<String>, out: &mut Vec<Change>) {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                path.push(key.clone());
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => compare(x, y, path, out),
                    (Some(_), None) => push(Kind::Delete, path, out),
                    (None, _) => push(Kind::Create, path, out),
                }
                path.pop();
            }
        }
        (Value::Array(a), Value::Array(b)) => lists(a, b, path, out),
        (Value::Null, Value::Null) => {}
        (Value::Null, _) => push(Kind::Create, path, out),
        (_, Value::Null) => push(Kind::Delete, path, out),
        (a, b) if prints_alike(a, b) => {}
        _ => push(Kind::Update, path, out),
    }
}

fn push(kind: Kind, path: &[String], out: &mut Vec<Change>) {
    out.push(Change { kind, path: path.to_vec() });
}

fn lists(old: &[Value], new: &[Value], path: &mut Vec<String>, out: &mut Vec<Change>) {
    let mut left: BTreeMap<usize, &Value> = old.iter().enumerate().collect();
    let mut right: BTreeMap<usize, &Value> = BTreeMap::new();
    for (j, value) in new.iter().enumerate() {
        let equal = left.iter().find(|(_, v)| same(v, value)).map(|(i, _)| *i);
        match equal {
            Some(i) => {
                left.remove(&i);
            }
            None => {
                right.insert(j, value);
            }
        }
    }
    let mut pairs: BTreeMap<usize, &Value> = BTreeMap::new();
    if let Some(key) = key_of(path) {
        let name = |v: &Value| v.get(key).and_then(Value::as_str).map(str::to_owned);
        let waiting: Vec<usize> = right.keys().copied().collect();
        for j in waiting {
            let Some(wanted) = right.get(&j).and_then(|v| name(v)) else { continue };
            let Some(i) = left.iter().find(|(_, v)| name(v).as_ref() == Some(&wanted)).map(|(i, _)| *i)
            else {
                continue;
            };
            if let Some(old) = left.remove(&i) {
                pairs.insert(j, old);
            }
        }
    }
    let indexes: BTreeSet<usize> = left.keys().chain(right.keys()).copied().collect();
    for index in indexes {
        path.push(index.to_string());
        match (pairs.get(&index), left.get(&index), right.get(&index)) {
            (Some(before), gone, Some(after)) => {
                compare(before, after, path, out);
                if gone.is_some() {
                    push(Kind::Delete, path, out);
                }
            }
            (_, Some(before), Some(after)) => compare(before, after, path, out),
            (_, Some(_), None) => push(Kind::Delete, path, out),
            (_, None, Some(_)) => push(Kind::Create, path, out),
            (_, None, None) => {}
        }
        path.pop();
    }
}

/// The field that names the elements of the list at `path`.
fn key_of(path: &[String]) -> Option<&'static str> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["nodeGroups"] => Some("name"),
        ["nodes"] | ["nodeGroups", _, "nodes"] => Some("hostName"),
        _ => None,
    }
}

/// Equal as JSON, numbers by value (`1` and `1.0` are equal).
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || number(x) == number(y),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, a)| y.get(k).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Scalars of different types that are written alike count as equal (`1` and `"1"`).
fn prints_alike(a: &Value, b: &Value) -> bool {
    fn print(v: &Value) -> Option<String> {
        match v {
            Value::String(s) => Some(s.clone()),
            Value::Bool(b) => Some(b.to_string()),
            Value::Number(n) => Some(number(n)),
            _ => None,
        }
    }
    match (print(a), print(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn number(n: &serde_json::Number) -> String {
    let text = n.to_string();
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Fields that may change after installation. A `*` stands for one element; a longer path that starts so matches too.
pub const ALLOWED_AFTER_INSTALL: &[&str] = &[
    "extraAnnotations",
    "extraLabels",
    "nodes.*.extraAnnotations",
    "nodes.*.extraLabels",
    "nodeGroups.*.extraAnnotations",
    "nodeGroups.*.extraLabels",
    "nodeGroups.*.nodes.*.extraAnnotations",
    "nodeGroups.*.nodes.*.extraLabels",
];

/// Differences, sorted by what they mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Classified {
    /// Nodes or groups added, removed or swapped, as dotted paths.
    pub scaling: Vec<String>,
    /// Everything else, as dotted paths.
    pub immutable: Vec<String>,
}

/// Drops changes at `ignored` and `allowed` paths and tells scaling from changes of what must stay (spec/02 5.3).
pub fn classify(changes: &[Change], ignored: &[&str], allowed: &[&str]) -> Classified {
    let swapped: BTreeSet<&[String]> = changes
        .iter()
        .filter(|c| c.kind == Kind::Update)
        .filter_map(|c| match c.path.as_slice() {
            [groups, _, nodes, _, host]
                if groups == "nodeGroups" && nodes == "nodes" && host == "hostName" =>
            {
                c.path.get(..4)
            }
            _ => None,
        })
        .collect();
    let mut out = Classified::default();
    for change in changes {
        if ignored.iter().chain(allowed).any(|pattern| matches(pattern, &change.path)) {
            continue;
        }
        let scaling = match change.path.as_slice() {
            [groups, _] if groups == "nodeGroups" && change.kind != Kind::Update => Some(change.dotted()),
            [groups, _, nodes]
                if groups == "nodeGroups" && nodes == "nodes" && change.kind != Kind::Update =>
            {
                Some(change.dotted())
            }
            [groups, _, nodes, _]
                if groups == "nodeGroups" && nodes == "nodes" && change.kind != Kind::Update =>
            {
                Some(change.dotted())
            }
            [_, _, _, _, _, ..] => {
                change.path.get(..4).filter(|node| swapped.contains(node)).map(|n| n.join("."))
            }
            _ => None,
        };
        let (list, path) = match scaling {
            Some(path) => (&mut out.scaling, path),
            None => (&mut out.immutable, change.dotted()),
        };
        if !list.contains(&path) {
            list.push(path);
        }
    }
    out
}

/// True when `path` is at or below `pattern`.
fn matches(pattern: &str, path: &[String]) -> bool {
    let mut given = path.iter();
    pattern.split('.').all(|want| given.next().is_some_and(|have| want == "*" || want == have))
}
