//! JSON text as Go's encoder writes it, numbers as floats: the form in which `enum`, `const` and `uniqueItems` compare
//! and print values.

use serde_json::Value;

use crate::go::{self, Numbers};

/// Compact JSON as Go prints it: sorted keys, `<`, `>`, `&` escaped, every number as a 64-bit float.
pub fn go_json(value: &Value) -> String {
    go::json(value, Numbers::Floats)
}
