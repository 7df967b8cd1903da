//! The OCM add-on contract: registration, CSR approval, deploy works, health (spec/07 part 2).
//!
//! | Key | Decision | What it keeps true |
//! |---|---|---|
//! | cluster | [`cluster::decide`] | the agent may register, has its rights and its report object on the hub, is deployed; the add-on's conditions say so |
//! | request | [`csr::decide`] | an agent gets a certificate of exactly its own identity, nobody else gets one |
//! | add-on | [`cma::decide`] | the hashes that OCM's roll-out waits for |
//!
//! OCM's own add-on manager (lifecycle `addon-manager`) makes owner references, configuration references, `Configured`
//! and `Progressing`; the spoke's registration agent makes certificates, the hub kubeconfig and `Available`.

#![expect(clippy::doc_markdown, reason = "docs name kinds as users write them")]

pub mod cluster;
pub mod cma;
pub mod config;
pub mod csr;
mod deploy;
mod hash;
mod health;
mod registration;
mod render;
mod settings;

pub use config::AgentConfig;
pub use hash::{config_hash, go_json, spec_hash};
pub use render::agent_items;
pub use settings::Settings;
