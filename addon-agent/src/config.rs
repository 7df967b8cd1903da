//! Flags and environment of the agent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// O-Cloud add-on for Open Cluster Management: the spoke process.
#[derive(Debug, Clone, Parser)]
#[command(name = "addon-agent", version)]
pub(crate) struct Config {
    /// Directory with the files of the hub kubeconfig secret: kubeconfig, cluster-name, tls.crt, tls.key.
    #[arg(long, env = "OCLOUD_HUB_DIRECTORY", default_value = "/var/run/ocloud/hub")]
    pub hub_directory: PathBuf,
    /// Kubeconfig of the spoke; without it the pod's service account, else the user's own kubeconfig.
    #[arg(long, env = "OCLOUD_SPOKE_KUBECONFIG")]
    pub spoke_kubeconfig: Option<PathBuf>,
    /// Namespace on the spoke that the add-on is installed in; its lease lives there.
    #[arg(long, env = "POD_NAMESPACE", default_value = "open-cluster-management-agent-addon")]
    pub namespace: String,
    /// Name of the add-on, which is also the name of its lease.
    #[arg(long, env = "OCLOUD_ADDON_NAME", default_value = "ocloud")]
    pub addon_name: String,
    /// Least seconds between two reports that bring no change of phase; a random part of up to a quarter is added.
    #[arg(long, env = "OCLOUD_REPORT_SECONDS", default_value_t = 30)]
    pub report_seconds: u32,
    /// Seconds between two renewals of the lease; a random part of up to a quarter is added.
    #[arg(long, env = "OCLOUD_LEASE_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=48))]
    pub lease_seconds: u32,
    /// Seconds between two looks at the files of the hub kubeconfig.
    #[arg(long, env = "OCLOUD_FILE_SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub file_seconds: u32,
    /// PEM bundle that the hub's certificates are verified with as well, for a proxy that opens TLS.
    #[arg(long, env = "OCLOUD_PROXY_CA")]
    pub proxy_ca: Option<PathBuf>,
    /// Address of /healthz and /readyz.
    #[arg(long, env = "OCLOUD_PROBE_ADDRESS", default_value = "0.0.0.0:8081")]
    pub probe_address: SocketAddr,
    /// Log filter, for example `info` or `addon_agent=debug`.
    #[arg(long, env = "OCLOUD_LOG", default_value = "info")]
    pub log: String,
}

impl Config {
    pub(crate) fn report_interval(&self) -> Duration {
        Duration::from_secs(self.report_seconds.into())
    }

    pub(crate) fn lease_interval(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.into())
    }

    pub(crate) fn file_interval(&self) -> Duration {
        Duration::from_secs(self.file_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Config::command().debug_assert();
    }
}
