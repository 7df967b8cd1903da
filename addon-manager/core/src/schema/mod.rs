//! JSON Schema: validation with the error texts that clients know (spec/01 4.5.2, spec/02 6.2).
//!
//! The texts, the paths and the choice of what is reported are those of the Go library that the O-Cloud Manager uses,
//! in its hybrid mode: draft 4, 6 or 7 by `$schema`, otherwise a mix of the three. `nullable` and `x-kubernetes-*` are
//! ignored, `default` is never applied, references leave the document never.
//!
//! ```text
//! Value --compile--> Schema --validate(Value)--> [Violation]       check = both, with the joined text
//! ```
//!
//! Why no general validator: clients match on the texts, which depend on which errors are reported together (a wrong
//! type hides everything below it, `anyOf` shows its closest branch), on Go's regular expressions and on Go's printing
//! of numbers. The tests compare the verdicts with a general validator.

mod compile;
mod evaluate;
mod format;
mod node;
mod number;
mod pattern;
mod print;
mod reference;
mod transform;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub use node::Schema;
pub use print::go_json;
pub use transform::{ClearError, clear_properties, forbid_unknown, strip_required};

/// A schema that cannot be used; its text is the detail that clients see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub(crate) String);

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `(root)`, or the dotted path with list indexes as numbers: `nodeGroups.0.nodes.1.hostName`.
    pub path: String,
    /// What is wrong there.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Why [`check`] refused an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The schema itself does not compile.
    #[error("failed when validating the input against the schema: {0}")]
    Schema(#[from] SchemaError),
    /// The input breaks the schema.
    #[error("{}", listing(.0))]
    Input(Vec<Violation>),
}

/// Turns a schema document into a [`Schema`].
///
/// # Errors
/// When the document is no usable schema, or refers to something outside of itself.
pub fn compile(document: &Value) -> Result<Schema, SchemaError> {
    compile::compile(document)
}

/// Compiles `schema` and validates `input` against it.
///
/// # Errors
/// When the schema does not compile or the input breaks it.
pub fn check(schema: &Value, input: &Value) -> Result<(), CheckError> {
    let violations = compile(schema)?.validate(input);
    if violations.is_empty() { Ok(()) } else { Err(CheckError::Input(violations)) }
}

/// `invalid input: e1; e2` (spec/01 4.5.2).
pub fn listing(violations: &[Violation]) -> String {
    let mut out = String::from("invalid input: ");
    for (i, v) in violations.iter().enumerate() {
        if i > 0 {
            out.push_str("; ");
        }
        out.push_str(&v.path);
        out.push_str(": ");
        out.push_str(&v.text);
    }
    out
}

/// A number as Go's `%v` prints it: shortest digits, an exponent from one million on and below one ten thousandth.
pub fn go_number(number: &serde_json::Number) -> String {
    number::Decimal::of(number).go_text()
}
