//! A spoke: its own API server, and the real agents of Open Cluster Management under the klusterlet's real rights.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::DynamicObject;

use super::apiserver::ApiServer;
use super::apply;
use super::base::Base;
use super::cache;
use super::hub::Hub;
use super::klusterlet::{self, ADDON_NAMESPACE, AGENT_NAMESPACE, REGISTRATION_ACCOUNT, WORK_ACCOUNT};
use super::supervisor::{Proc, Program, Rank};
use super::tools::Tool;
use super::wait;

/// A running spoke. It joins a hub in a second step, under any cluster name: in the product's path a cluster joins
/// only when it has been installed.
#[derive(Debug)]
pub struct Spoke {
    base: Base,
    api: ApiServer,
    joined: Mutex<Option<Joined>>,
}

#[derive(Clone, Debug)]
struct Joined {
    cluster: String,
    registration: Proc,
    work: Proc,
}

impl std::ops::Deref for Spoke {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.api
    }
}

impl Spoke {
    /// Starts the API server `name` with the CRDs, namespaces and rights of a klusterlet; no agent yet.
    pub async fn start(base: &Base, name: &str) -> Result<Self> {
        let api = ApiServer::start(base, name).await?;
        for namespace in [AGENT_NAMESPACE, ADDON_NAMESPACE] {
            api.namespace(namespace).await?;
        }
        apply::crds(&api.client(), klusterlet::crds(base.tools())?).await.context("the klusterlet's CRDs")?;
        apply::all(&api.client(), klusterlet::rights(base.tools())?)
            .await
            .context("the klusterlet's rights")?;
        Ok(Self { base: base.clone(), api, joined: Mutex::new(None) })
    }

    /// Starts the agents for the ManagedCluster `cluster` of `hub`; returns when both run. The ManagedCluster may exist
    /// already, else the registration agent makes it.
    pub async fn join(&self, hub: &Hub, cluster: &str) -> Result<JoinTimes> {
        self.join_with(hub, cluster, &[]).await
    }

    /// As [`Spoke::join`], with more arguments for the registration agent.
    pub async fn join_with(&self, hub: &Hub, cluster: &str, arguments: &[&str]) -> Result<JoinTimes> {
        if let Some(joined) = self.joined() {
            bail!("{} has joined as {} already; leave first", self.name(), joined.cluster);
        }
        let begin = Instant::now();
        let dir = self.dir().join(format!("as-{cluster}"));
        let hub_dir = dir.join("hub-kubeconfig");
        fs::create_dir_all(&hub_dir).with_context(|| format!("creating {}", hub_dir.display()))?;
        let bootstrap = dir.join("bootstrap.kubeconfig");
        hub.access("ocm-bootstrap")?.write(&bootstrap)?;

        let program = self.registration(cluster, &bootstrap, &hub_dir).await?;
        let registration = self.base.spawn(program.args(arguments.iter().copied())).await?;
        let hub_kubeconfig = hub_dir.join("kubeconfig");
        registration
            .until_ready("the hub's kubeconfig is there", Duration::from_mins(1), || async {
                hub_kubeconfig.exists()
            })
            .await?;
        let accepted = begin.elapsed();

        let work = self.base.spawn(self.work(cluster, &hub_dir).await?).await?;
        *self.lock() = Some(Joined { cluster: cluster.to_owned(), registration, work });
        Ok(JoinTimes { accepted, agents: begin.elapsed() })
    }

    async fn registration(&self, cluster: &str, bootstrap: &Path, hub_dir: &Path) -> Result<Program> {
        let path = self.base.tools().path(Tool::Registration)?;
        let program =
            Program::new(format!("{}-{cluster}-registration-agent", self.name()), path, Rank::Agent)
                .arg("agent")
                .flag("--spoke-cluster-name", cluster)
                .flag("--bootstrap-kubeconfig", bootstrap.display())
                .flag("--kubeconfig", self.kubeconfig_of_agent(REGISTRATION_ACCOUNT).await?.display())
                .flag("--hub-kubeconfig-dir", hub_dir.display())
                .flag("--namespace", AGENT_NAMESPACE)
                .arg("--disable-leader-election")
                .flag("--cluster-healthcheck-period", "10s")
                .flag("--spoke-external-server-urls", self.url())
                .flag("--listen", format!("127.0.0.1:{}", cache::free_port()?));
        Ok(program)
    }

    async fn work(&self, cluster: &str, hub_dir: &Path) -> Result<Program> {
        let path = self.base.tools().path(Tool::Work)?;
        let program = Program::new(format!("{}-{cluster}-work-agent", self.name()), path, Rank::Agent)
            .arg("agent")
            .flag("--spoke-cluster-name", cluster)
            .flag("--kubeconfig", self.kubeconfig_of_agent(WORK_ACCOUNT).await?.display())
            .flag("--workload-source-driver", "kube")
            .flag("--workload-source-config", hub_dir.join("kubeconfig").display())
            .flag("--hub-kubeconfig-dir", hub_dir.display())
            .flag("--namespace", AGENT_NAMESPACE)
            .arg("--disable-leader-election")
            .flag("--status-sync-interval", "2s")
            .flag("--listen", format!("127.0.0.1:{}", cache::free_port()?));
        Ok(program)
    }

    async fn kubeconfig_of_agent(&self, account: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), AGENT_NAMESPACE);
        wait::present(&accounts, account, Duration::from_secs(10)).await?;
        self.kubeconfig_as(AGENT_NAMESPACE, account).await
    }

    /// Name of the ManagedCluster as which this spoke has joined.
    pub fn cluster(&self) -> Option<String> {
        self.joined().map(|joined| joined.cluster)
    }

    /// The registration agent, while joined.
    pub fn registration_agent(&self) -> Result<Proc> {
        Ok(self.joined().context("the spoke has not joined")?.registration)
    }

    /// The work agent, while joined.
    pub fn work_agent(&self) -> Result<Proc> {
        Ok(self.joined().context("the spoke has not joined")?.work)
    }

    /// Ends the agents: the cluster falls silent. Its objects stay, on the hub and on the spoke.
    pub async fn leave(&self) -> Result<()> {
        let joined = self.lock().take();
        if let Some(joined) = joined {
            joined.work.kill().await?;
            joined.registration.kill().await?;
            let secrets: Api<k8s_openapi::api::core::v1::Secret> =
                Api::namespaced(self.client(), AGENT_NAMESPACE);
            // Without it the next registration agent bootstraps afresh.
            let _ = secrets.delete("hub-kubeconfig-secret", &kube::api::DeleteParams::default()).await;
            fs::remove_dir_all(self.dir().join(format!("as-{}", joined.cluster)))?;
        }
        Ok(())
    }

    /// Waits until the ManagedCluster is available on the hub.
    pub async fn until_available(&self, hub: &Hub, limit: Duration) -> Result<DynamicObject> {
        let cluster = self.cluster().context("the spoke has not joined")?;
        let kind =
            super::dynamic("cluster.open-cluster-management.io/v1", "ManagedCluster", "managedclusters");
        let clusters: Api<DynamicObject> = Api::all_with(hub.client(), &kind);
        wait::condition(&clusters, &cluster, limit, "ManagedClusterConditionAvailable", "True").await
    }

    fn joined(&self) -> Option<Joined> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long joining took.
#[derive(Clone, Copy, Debug)]
pub struct JoinTimes {
    /// From the start of the registration agent until it has its certificate from the hub.
    pub accepted: Duration,
    /// Until both agents run.
    pub agents: Duration,
}
