//! What hub and spokes share: the lab's directory, its supervisor, the built tools and one etcd.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpStream;

use super::cache;
use super::supervisor::{Proc, Program, Rank, Supervisor};
use super::tools::{Tool, Tools};

/// The ground on which clusters stand.
#[derive(Clone, Debug)]
pub struct Base {
    dir: PathBuf,
    tools: Tools,
    supervisor: Supervisor,
    etcd: Proc,
    etcd_url: String,
}

impl Base {
    /// Makes sure that the tools are built, then starts supervisor and etcd for a lab in `dir`.
    pub async fn start(dir: &Path) -> Result<Self> {
        let tools = tokio::task::spawn_blocking(Tools::base).await.context("building the tools")??;
        let supervisor = Supervisor::start(dir).await?;
        let (clients, peers) = (cache::free_port()?, cache::free_port()?);
        let etcd_url = format!("http://127.0.0.1:{clients}");
        let program = Program::new("etcd", tools.path(Tool::Etcd)?, Rank::Store)
            .flag("--data-dir", dir.join("etcd").display())
            .arg("--unsafe-no-fsync")
            .flag("--listen-client-urls", &etcd_url)
            .flag("--advertise-client-urls", &etcd_url)
            .flag("--listen-peer-urls", format!("http://127.0.0.1:{peers}"))
            .flag("--initial-advertise-peer-urls", format!("http://127.0.0.1:{peers}"))
            .flag("--initial-cluster", format!("default=http://127.0.0.1:{peers}"))
            .flag("--log-level", "warn")
            .arg("--quota-backend-bytes=4294967296");
        let etcd = supervisor.spawn(program).await?;
        let address = format!("127.0.0.1:{clients}");
        etcd.until_ready("its port is open", Duration::from_secs(20), || async {
            TcpStream::connect(&address).await.is_ok()
        })
        .await?;
        Ok(Self { dir: dir.to_owned(), tools, supervisor, etcd, etcd_url })
    }

    /// The lab's directory; logs are in `logs`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Built programs.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The supervisor of all processes.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The store of all API servers.
    pub fn etcd(&self) -> &Proc {
        &self.etcd
    }

    /// Client URL of etcd.
    pub fn etcd_url(&self) -> &str {
        &self.etcd_url
    }

    /// Starts a program under the supervisor.
    pub async fn spawn(&self, program: Program) -> Result<Proc> {
        self.supervisor.spawn(program).await
    }
}
