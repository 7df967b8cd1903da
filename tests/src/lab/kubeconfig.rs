//! How somebody reaches an API server: URL, authority and token; as a file for processes, as a client for tests.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;

/// One user's access to one API server.
#[derive(Clone)]
pub struct Access {
    cluster: String,
    server: String,
    ca: String,
    token: String,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("cluster", &self.cluster)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// `cluster` is the name of the cluster entry; the registration agent bootstraps again when it changes.
    pub fn new(cluster: &str, server: &str, ca: &str, token: &str) -> Self {
        Self { cluster: cluster.into(), server: server.into(), ca: ca.into(), token: token.into() }
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// As a kubeconfig; JSON is YAML, and every program reads it.
    fn json(&self) -> serde_json::Value {
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.cluster, "cluster": {"server": self.server, "certificate-authority-data": ca}}],
            "users": [{"name": "user", "user": {"token": self.token}}],
            "contexts": [{"name": "default", "context": {"cluster": self.cluster, "user": "user"}}],
            "current-context": "default",
        })
    }

    /// Writes the kubeconfig, readable by its owner only.
    pub fn write(&self, path: &Path) -> Result<()> {
        let unfinished = path.with_extension("tmp");
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).write(true).truncate(true).mode(0o600).open(&unfinished);
        let file = file.with_context(|| format!("creating {}", unfinished.display()))?;
        serde_json::to_writer_pretty(file, &self.json())?;
        fs::rename(&unfinished, path).with_context(|| format!("writing {}", path.display()))
    }

    /// A client on the current runtime.
    pub async fn client(&self) -> Result<Client> {
        // The whole workspace uses ring; a second installation is not an error for us.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig: Kubeconfig = serde_json::from_value(self.json())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }
}
