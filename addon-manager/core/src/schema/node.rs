//! What a compiled schema is made of: nodes in an arena, one per sub-schema.

use std::collections::BTreeMap;

use regex::Regex;

use super::format::Format;
use super::number::Decimal;

pub(super) type NodeId = usize;

/// A compiled schema; cheap to validate with, any number of times.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// A boolean schema.
    pub(super) pass: Option<bool>,
    /// `$ref`: everything else in the node is ignored.
    pub(super) reference: Option<NodeId>,
    pub(super) types: Vec<Type>,
    pub(super) properties: BTreeMap<String, NodeId>,
    pub(super) additional: Additional,
    pub(super) patterns: Vec<(Regex, NodeId)>,
    pub(super) names: Option<NodeId>,
    pub(super) dependencies: BTreeMap<String, Dependency>,
    pub(super) items: Items,
    pub(super) additional_items: Additional,
    pub(super) multiple_of: Option<Decimal>,
    pub(super) minimum: Option<Decimal>,
    pub(super) above: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) below: Option<Decimal>,
    pub(super) length: Bounds,
    pub(super) pattern: Option<(String, Regex)>,
    pub(super) format: Option<(String, Format)>,
    pub(super) property_count: Bounds,
    pub(super) required: Vec<String>,
    pub(super) item_count: Bounds,
    pub(super) unique: bool,
    pub(super) contains: Option<NodeId>,
    pub(super) constant: Option<String>,
    pub(super) allowed: Vec<String>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<NodeId>,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

impl Node {
    /// The nodes that are applied to the same value as this one.
    pub(super) fn in_place(&self) -> impl Iterator<Item = NodeId> + '_ {
        let dependencies = self.dependencies.values().filter_map(|d| match d {
            Dependency::Schema(id) => Some(*id),
            Dependency::Keys(_) => None,
        });
        [self.reference, self.not, self.condition, self.then, self.otherwise]
            .into_iter()
            .flatten()
            .chain(self.one_of.iter().chain(&self.any_of).chain(&self.all_of).copied())
            .chain(dependencies)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Array,
    Boolean,
    Integer,
    Number,
    Null,
    Object,
    String,
}

impl Type {
    pub(super) const ALL: [Type; 7] =
        [Type::Array, Type::Boolean, Type::Integer, Type::Number, Type::Null, Type::Object, Type::String];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Type::Array => "array",
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Null => "null",
            Type::Object => "object",
            Type::String => "string",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Additional {
    #[default]
    Free,
    Forbidden,
    Schema(NodeId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dependency {
    Keys(Vec<String>),
    Schema(NodeId),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Items {
    #[default]
    Free,
    Each(NodeId),
    Positions(Vec<NodeId>),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}
