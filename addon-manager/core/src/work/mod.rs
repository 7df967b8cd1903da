//! The one door to spokes: building, naming and reading ManifestWorks (spec/07 section 8).
//!
//! ```text
//! Item (one object, how it is applied, what is read back) --> Draft --> Step::Apply of a ManifestWork
//! ManifestWork.status --> applied(), manifest() --> facts, only where they speak of the current generation
//! ```
//!
//! Payload works carry labels of our own ([`Draft::payload`]), never the add-on's: OCM would count them as parts of
//! the add-on and demand configuration hashes of them (spec/07 15).

#![expect(clippy::doc_markdown, reason = "docs name kinds as users write them")]

mod draft;
mod name;
mod read;

pub use draft::{Draft, Item, LIMIT, WorkError, encoded_size};
pub use name::work_name;
pub use read::{Applied, Manifest, applied, manifest};

#[cfg(test)]
mod tests;
