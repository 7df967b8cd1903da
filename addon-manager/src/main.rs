//! O-Cloud add-on for Open Cluster Management: the hub process (DESIGN section 2).
//!
//! The decisions are in the crate `manager-core`; this crate observes and acts.

mod addon;
mod config;
mod hardware;
mod inventory;
mod leader;
mod metrics;
mod request;
mod run;
mod runtime;
mod serve;
mod telemetry;
mod template;

use clap::Parser as _;

fn main() -> anyhow::Result<()> {
    let config = config::Config::parse();
    telemetry::start(&config)?;
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider is installed already"))?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run::run(config))
}
