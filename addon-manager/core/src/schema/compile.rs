//! From a schema document to nodes in an arena. Keywords are read in the order in which the Go library reads them, so
//! that of several mistakes the same one is reported; maps are read in the order of their keys.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::{Map, Value};

use super::format::Format;
use super::node::{Additional, Bounds, Dependency, Items, Node, NodeId, Schema, Type};
use super::number::Decimal;
use super::print::go_json;
use super::reference::{refuse_circles, resolve};
use super::{SchemaError, pattern};

/// Deeper schemas are refused.
pub(super) const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    Four,
    Six,
    Seven,
    /// No `$schema`, or one that is not known: the mix of the three.
    Hybrid,
}

impl Draft {
    fn of(document: &Value) -> Result<Self, SchemaError> {
        let Some(value) = document.get("$schema") else { return Ok(Draft::Hybrid) };
        let Some(url) = value.as_str() else { return Err(wrong_type("string", "$schema")) };
        Ok(match url.strip_suffix('#').unwrap_or(url) {
            "http://json-schema.org/draft-04/schema" => Draft::Four,
            "http://json-schema.org/draft-06/schema" => Draft::Six,
            "http://json-schema.org/draft-07/schema" => Draft::Seven,
            _ => Draft::Hybrid,
        })
    }
}

pub(super) fn compile(document: &Value) -> Result<Schema, SchemaError> {
    let mut compiler = Compiler {
        document,
        draft: Draft::of(document)?,
        nodes: Vec::new(),
        references: BTreeMap::new(),
        depth: 0,
    };
    let root = compiler.parse(document)?;
    let schema = Schema { nodes: compiler.nodes, root };
    refuse_circles(&schema)?;
    Ok(schema)
}

struct Compiler<'a> {
    document: &'a Value,
    draft: Draft,
    nodes: Vec<Node>,
    /// The nodes of references that were met already.
    references: BTreeMap<String, NodeId>,
    depth: usize,
}

type Level = Map<String, Value>;

impl Compiler<'_> {
    fn parse(&mut self, value: &Value) -> Result<NodeId, SchemaError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(format_args!("the schema is nested deeper than {MAX_DEPTH} levels")));
        }
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        let node = match value {
            Value::Bool(pass) if self.draft >= Draft::Six => Node { pass: Some(*pass), ..Node::default() },
            Value::Object(level) => self.node(level)?,
            _ => return Err(error("Expected: valid schema, given: Invalid JSON")),
        };
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = node;
        }
        self.depth -= 1;
        Ok(id)
    }

    fn node(&mut self, level: &Level) -> Result<Node, SchemaError> {
        let mut node = Node::default();
        self.descriptive(level)?;
        if let Some(reference) = level.get("$ref").and_then(Value::as_str) {
            node.reference = Some(self.reference(reference)?);
            return Ok(node);
        }
        types(level, &mut node)?;
        self.objects(level, &mut node)?;
        self.arrays(level, &mut node)?;
        self.numbers(level, &mut node)?;
        strings(level, &mut node)?;
        counts(level, &mut node)?;
        self.values(level, &mut node)?;
        self.combinators(level, &mut node)?;
        Ok(node)
    }

    /// Keywords that only have to be of the right type; definitions are compiled so that mistakes in them show.
    fn descriptive(&mut self, level: &Level) -> Result<(), SchemaError> {
        let id = match self.draft {
            Draft::Four => "id",
            Draft::Hybrid if level.contains_key("id") => "id",
            _ => "$id",
        };
        text(level, id)?;
        match level.get("definitions") {
            None => {}
            Some(Value::Object(definitions)) => {
                for definition in definitions.values() {
                    if !definition.is_object() && !definition.is_boolean() {
                        return Err(wrong_type("array of schemas", "definitions"));
                    }
                    self.parse(definition)?;
                }
            }
            Some(_) => return Err(wrong_type("array of schemas", "definitions")),
        }
        text(level, "title")?;
        text(level, "description")?;
        text(level, "$ref")
    }

    fn reference(&mut self, reference: &str) -> Result<NodeId, SchemaError> {
        if let Some(&id) = self.references.get(reference) {
            return Ok(id);
        }
        // Registered before its target is compiled, so that recursive schemas end.
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.references.insert(reference.to_owned(), id);
        let document = self.document;
        let target = resolve(document, reference)?;
        if !target.is_object() && !target.is_boolean() {
            return Err(error("valid schema must be of type object"));
        }
        let inner = self.parse(target)?;
        if let Some(slot) = self.nodes.get_mut(id) {
            slot.reference = Some(inner);
        }
        Ok(id)
    }

    fn objects(&mut self, level: &Level, node: &mut Node) -> Result<(), SchemaError> {
        if let Some(value) = level.get("properties") {
            let Some(properties) = value.as_object() else {
                return Err(error("properties must be of type object"));
            };
            for (name, property) in properties {
                let id = self.parse(property)?;
                node.properties.insert(name.clone(), id);
            }
        }
        node.additional = self.additional(level, "additionalProperties")?;
        match level.get("patternProperties") {
            None => {}
            Some(Value::Object(patterns)) => {
                for (source, value) in patterns {
                    let Some(regex) = pattern::compile(source) else {
                        return Err(error(format_args!("Invalid regex pattern '{source}'")));
                    };
                    let id = self.parse(value)?;
                    node.patterns.push((regex, id));
                }
            }
            Some(_) => return Err(wrong_type("valid schema", "patternProperties")),
        }
        if self.draft >= Draft::Six {
            node.names = match level.get("propertyNames") {
                None => None,
                Some(value @ (Value::Object(_) | Value::Bool(_))) => Some(self.parse(value)?),
                Some(_) => return Err(wrong_type("valid schema", "patternProperties")),
            };
        }
        if let Some(value) = level.get("dependencies") {
            let Some(dependencies) = value.as_object() else {
                return Err(error("dependencies must be of type object"));
            };
            for (key, value) in dependencies {
                let dependency = self.dependency(value)?;
                node.dependencies.insert(key.clone(), dependency);
            }
        }
        Ok(())
    }

    fn dependency(&mut self, value: &Value) -> Result<Dependency, SchemaError> {
        let wrong = || error("dependency must be of type schema or array of strings");
        match value {
            Value::Array(keys) => keys
                .iter()
                .map(|k| k.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect::<Result<_, _>>()
                .map(Dependency::Keys),
            Value::Object(_) | Value::Bool(_) => Ok(Dependency::Schema(self.parse(value)?)),
            _ => Err(wrong()),
        }
    }

    fn additional(&mut self, level: &Level, keyword: &str) -> Result<Additional, SchemaError> {
        Ok(match level.get(keyword) {
            None | Some(Value::Bool(true)) => Additional::Free,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(value @ Value::Object(_)) => Additional::Schema(self.parse(value)?),
            Some(_) => return Err(wrong_type("boolean/valid schema", keyword)),
        })
    }

    fn arrays(&mut self, level: &Level, node: &mut Node) -> Result<(), SchemaError> {
        let wrong = || wrong_type("valid schema/array of schemas", "items");
        node.items = match level.get("items") {
            None => Items::Free,
            Some(Value::Array(list)) => {
                let mut positions = Vec::with_capacity(list.len());
                for value in list {
                    if !value.is_object() && !value.is_boolean() {
                        return Err(wrong());
                    }
                    positions.push(self.parse(value)?);
                }
                Items::Positions(positions)
            }
            Some(value @ (Value::Object(_) | Value::Bool(_))) => Items::Each(self.parse(value)?),
            Some(_) => return Err(wrong()),
        };
        node.additional_items = self.additional(level, "additionalItems")?;
        Ok(())
    }

    fn numbers(&mut self, level: &Level, node: &mut Node) -> Result<(), SchemaError> {
        if let Some(value) = level.get("multipleOf") {
            let Some(step) = decimal(value) else { return Err(wrong_type("number", "multipleOf")) };
            if !step.is_positive() {
                return Err(error("multipleOf must be strictly greater than 0"));
            }
            node.multiple_of = Some(step);
        }
        (node.minimum, node.above) = self.limit(level, "minimum", "exclusiveMinimum")?;
        (node.maximum, node.below) = self.limit(level, "maximum", "exclusiveMaximum")?;
        Ok(())
    }

    /// The inclusive and the exclusive limit; draft 4 has a boolean for the latter, later ones a number.
    fn limit(
        &self,
        level: &Level,
        inclusive: &str,
        exclusive: &str,
    ) -> Result<(Option<Decimal>, Option<Decimal>), SchemaError> {
        let limit = match level.get(inclusive) {
            None => None,
            Some(value) => match decimal(value) {
                Some(limit) => Some(limit),
                None => return Err(error(format_args!("{inclusive} must be of a number"))),
            },
        };
        let Some(value) = level.get(exclusive) else { return Ok((limit, None)) };
        match (value, self.draft) {
            (Value::Bool(strict), Draft::Four | Draft::Hybrid) => match (limit, strict) {
                (None, _) => Err(error(format_args!("{exclusive} cannot be used without {inclusive}"))),
                (limit, true) => Ok((None, limit)),
                (limit, false) => Ok((limit, None)),
            },
            (Value::Number(number), Draft::Six | Draft::Seven | Draft::Hybrid) => {
                Ok((limit, Some(Decimal::of(number))))
            }
            (_, Draft::Four) => Err(wrong_type("boolean", exclusive)),
            (_, Draft::Hybrid) => Err(wrong_type("boolean/number", exclusive)),
            _ => Err(wrong_type("number", exclusive)),
        }
    }

    fn values(&mut self, level: &Level, node: &mut Node) -> Result<(), SchemaError> {
        if self.draft >= Draft::Six {
            if let Some(value) = level.get("contains") {
                node.contains = Some(self.parse(value)?);
            }
            node.constant = level.get("const").map(go_json);
        }
        if let Some(value) = level.get("enum") {
            let Some(list) = value.as_array() else { return Err(error("enum must be of an array")) };
            for value in list {
                let text = go_json(value);
                if node.allowed.contains(&text) {
                    return Err(error("enum items must be unique"));
                }
                node.allowed.push(text);
            }
        }
        Ok(())
    }

    fn combinators(&mut self, level: &Level, node: &mut Node) -> Result<(), SchemaError> {
        node.one_of = self.branches(level, "oneOf", "oneOf")?;
        node.any_of = self.branches(level, "anyOf", "anyOf")?;
        node.all_of = self.branches(level, "allOf", "anyOf")?;
        node.not = self.part(level, "not")?;
        if self.draft >= Draft::Seven {
            node.condition = self.part(level, "if")?;
            node.then = self.part(level, "then")?;
            node.otherwise = self.part(level, "else")?;
        }
        Ok(())
    }

    fn branches(&mut self, level: &Level, keyword: &str, named: &str) -> Result<Vec<NodeId>, SchemaError> {
        match level.get(keyword) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(|value| self.parse(value)).collect(),
            Some(_) => Err(error(format_args!("{named} must be of an array"))),
        }
    }

    fn part(&mut self, level: &Level, keyword: &str) -> Result<Option<NodeId>, SchemaError> {
        match level.get(keyword) {
            None => Ok(None),
            Some(value @ (Value::Object(_) | Value::Bool(_))) => self.parse(value).map(Some),
            Some(_) => Err(error(format_args!("{keyword} must be of an object"))),
        }
    }
}

fn types(level: &Level, node: &mut Node) -> Result<(), SchemaError> {
    let wrong = || wrong_type("string/array of strings", "type");
    let names: Vec<&str> = match level.get("type") {
        None => Vec::new(),
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(list)) => {
            list.iter().map(|v| v.as_str().ok_or_else(wrong)).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong()),
    };
    for name in names {
        let Some(found) = Type::ALL.into_iter().find(|t| t.as_str() == name) else {
            return Err(error(format_args!(
                "has a primitive type that is NOT VALID -- given: /{name}/ \
                 Expected valid values are:[array boolean integer number null object string]"
            )));
        };
        if node.types.contains(&found) {
            return Err(error(format_args!("{name} type is duplicated")));
        }
        node.types.push(found);
    }
    Ok(())
}

fn strings(level: &Level, node: &mut Node) -> Result<(), SchemaError> {
    node.length = bounds(level, "minLength", "maxLength")?;
    match level.get("pattern") {
        None => {}
        Some(Value::String(source)) => match pattern::compile(source) {
            Some(regex) => node.pattern = Some((source.clone(), regex)),
            None => return Err(error("pattern must be a valid regex")),
        },
        Some(_) => return Err(error("pattern must be of a string")),
    }
    match level.get("format") {
        None => {}
        Some(Value::String(name)) => node.format = Format::of(name).map(|f| (name.clone(), f)),
        Some(_) => return Err(error("format must be of type string")),
    }
    Ok(())
}

fn counts(level: &Level, node: &mut Node) -> Result<(), SchemaError> {
    node.property_count = bounds(level, "minProperties", "maxProperties")?;
    if let Some(value) = level.get("required") {
        let Some(list) = value.as_array() else { return Err(error("required must be of an array")) };
        for value in list {
            let Some(name) = value.as_str() else { return Err(error("required items must be string")) };
            if node.required.iter().any(|r| r == name) {
                return Err(error("required items must be unique"));
            }
            node.required.push(name.to_owned());
        }
    }
    node.item_count = Bounds { min: count(level, "minItems")?, max: count(level, "maxItems")? };
    match level.get("uniqueItems") {
        None => {}
        Some(Value::Bool(unique)) => node.unique = *unique,
        Some(_) => return Err(error("uniqueItems must be of a boolean")),
    }
    Ok(())
}

fn bounds(level: &Level, low: &str, high: &str) -> Result<Bounds, SchemaError> {
    let bounds = Bounds { min: count(level, low)?, max: count(level, high)? };
    match (bounds.min, bounds.max) {
        (Some(min), Some(max)) if min > max => {
            Err(error(format_args!("{low} cannot be greater than {high}")))
        }
        _ => Ok(bounds),
    }
}

fn count(level: &Level, keyword: &str) -> Result<Option<usize>, SchemaError> {
    let Some(value) = level.get(keyword) else { return Ok(None) };
    let Some(number) = decimal(value).and_then(Decimal::as_i64) else {
        return Err(error(format_args!("{keyword} must be of an integer")));
    };
    match usize::try_from(number) {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(error(format_args!("{keyword} must be greater than or equal to 0"))),
    }
}

fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Some(Decimal::of(number)),
        _ => None,
    }
}

fn text(level: &Level, keyword: &str) -> Result<(), SchemaError> {
    match level.get(keyword) {
        None | Some(Value::String(_)) => Ok(()),
        Some(_) => Err(wrong_type("string", keyword)),
    }
}

fn wrong_type(expected: &str, given: &str) -> SchemaError {
    error(format_args!("Invalid type. Expected: {expected}, given: {given}"))
}

pub(super) fn error(text: impl Display) -> SchemaError {
    SchemaError(text.to_string())
}
