//! What all kinds share: conditions, names, labels, durations, free-form JSON, YAML.

pub mod annotations;
pub mod condition;
pub mod duration;
pub mod finalizers;
mod free_form;
pub mod labels;
pub mod names;
pub mod schema;
mod tolerant;
mod words;
pub mod yaml;

pub use duration::GoDuration;
pub use free_form::FreeForm;
pub(crate) use tolerant::absent_is_default;
pub(crate) use words::words;
