//! Flags and environment of the manager. Every flag has an environment name and a default.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// How log lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// O-Cloud add-on for Open Cluster Management: the hub process.
#[derive(Debug, Clone, Parser)]
#[command(name = "addon-manager", version)]
pub(crate) struct Config {
    /// Kubeconfig of the hub; without it the pod's service account, else the user's own kubeconfig.
    #[arg(long, env = "KUBECONFIG_FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Operator namespace: HardwareProfiles, NodeAllocationRequests, AllocatedNodes and the inventory live here.
    #[arg(long, env = "OCLOUD_MANAGER_NAMESPACE", default_value = "oran-o2ims")]
    pub namespace: String,
    /// Address of /healthz, /readyz and /metrics.
    #[arg(long, env = "OCLOUD_HEALTH_ADDRESS", default_value = "0.0.0.0:8081")]
    pub health_address: SocketAddr,
    /// Keys of one area that are worked on at once.
    #[arg(long, env = "OCLOUD_CONCURRENCY", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// Name of this process in the leader's lease; a random part is added.
    #[arg(long, env = "POD_NAME", default_value = "addon-manager")]
    pub identity: String,
    /// Image of the add-on agent that is deployed to spokes.
    #[arg(long, env = "OCLOUD_AGENT_IMAGE", default_value = "quay.io/ocloud/addon-agent:latest")]
    pub agent_image: String,
    /// How log lines are printed.
    #[arg(long, env = "OCLOUD_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Log filter, for example `info` or `addon_manager=debug`.
    #[arg(long, env = "OCLOUD_LOG", default_value = "info")]
    pub log: String,
}
