//! Every decision of the addon-manager, pure: no Kubernetes client, no clock, no randomness, no SQL, no HTTP.
//!
//! ```text
//! observe (shell) --> Seen --> decide (here) --> Plan --> act (shell)
//! ```
//!
//! An area is a folder that a newcomer can own; what it offers stands in its `mod.rs`. Areas do not reach into each
//! other's files. The same area has the same name in the shell (`addon-manager/src/<area>/{observe,act}.rs`).

pub mod addon;
pub mod go;
pub mod hardware;
pub mod inventory;
pub mod plan;
pub mod policy;
pub mod request;
pub mod schema;
pub mod template;
pub mod work;
