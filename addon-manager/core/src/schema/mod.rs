//! JSON Schema: validation with the error texts that clients know (spec/01 4.5.2, spec/02 6.2).
