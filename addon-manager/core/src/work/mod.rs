//! The one door to spokes: building, naming and reading ManifestWorks (spec/07 section 8).
