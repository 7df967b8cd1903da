//! The spoke process of the O-Cloud add-on.
//!
//! ```text
//! spoke API --watches--> Observed --report::build (pure)--> SpokeReport.status --Pace (pure)--> hub API
//!                            |                                                        |
//!                            '------------------ Health <-----------------------------'
//!                                                  |
//!                                      add-on lease on the spoke, probes
//! ```
//!
//! It watches a few kinds, tells the hub what changed, and renews the add-on's lease only while both work. It keeps no
//! state: after a restart, or after an image-based upgrade that replaced the whole cluster, it reads what the hub has
//! and goes on. It holds no credential but its own.

#![expect(clippy::doc_markdown, reason = "docs name kinds as users write them")]

mod config;
mod health;
mod hub;
mod lease;
mod observed;
mod probe;
mod report;
mod run;
mod spoke;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::config::Config;

fn main() -> ExitCode {
    let config = Config::parse();
    let filter = EnvFilter::try_new(&config.log).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::error!("a TLS provider is installed already");
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run::run(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "ended");
            ExitCode::FAILURE
        }
    }
}
