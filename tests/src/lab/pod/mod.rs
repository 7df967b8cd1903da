//! What a kubelet would do for one Deployment of a spoke: the lab has no kubelet, so this runs the container's program
//! as a process, with the account of the pod, its arguments, environment and probes, and its Secret and ConfigMap
//! volumes as directories that are kept current the way a kubelet does it.
//!
//! The differences to a real pod: the ServiceAccount's token comes as a kubeconfig in `KUBECONFIG` instead of the
//! in-cluster files; paths of volumes and listening addresses in arguments and environment are those of this machine.

mod container;
mod volume;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::container::{Check, LocalContainer};
use self::volume::LocalVolume;
use super::base::Base;
use super::progress;
use super::spoke::Spoke;
use super::supervisor::{Exit, Proc, Program};
use super::wait;

/// A crashed program starts again after this time, doubled with each crash up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Follows one Deployment: runs its program while the Deployment exists. Clones mean the same one; dropping the last
/// stops following, and the process stays until the lab ends.
#[derive(Clone, Debug)]
pub struct Pod {
    _follower: Arc<Follower>,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Follower(JoinHandle<()>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The process as it is now, and what is known of it.
#[derive(Debug, Default)]
struct Running {
    process: Mutex<Option<Proc>>,
    ports: Mutex<BTreeMap<i32, u16>>,
    /// Held while a process starts or ends: a start that is under way is never lost.
    gate: tokio::sync::Mutex<()>,
}

impl Running {
    fn process(&self) -> Option<Proc> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, process: Option<Proc>) -> Option<Proc> {
        std::mem::replace(&mut *self.process.lock().unwrap_or_else(PoisonError::into_inner), process)
    }
}

/// What to follow.
#[derive(Clone, Debug)]
pub struct PodOptions {
    /// Namespace of the Deployment on the spoke.
    pub namespace: String,
    /// Name of the Deployment on the spoke.
    pub deployment: String,
    /// Program instead of the container's image.
    pub program: PathBuf,
    /// Environment on top of the container's: ports that must differ on one machine, log levels.
    pub environment: BTreeMap<String, String>,
    /// Arguments after the container's.
    pub arguments: Vec<String>,
}

impl Pod {
    /// Begins to follow; the Deployment need not exist yet.
    pub fn follow(base: &Base, spoke: Arc<Spoke>, options: PodOptions) -> Result<Self> {
        let running = Arc::new(Running::default());
        let kubelet = Kubelet { base: base.clone(), spoke, options, running: running.clone() };
        let follower = super::runtime()?.spawn(async move { Box::pin(kubelet.follow()).await });
        Ok(Self { _follower: Arc::new(Follower(follower)), running })
    }

    /// The process, while the Deployment exists and its volumes are there.
    pub fn process(&self) -> Option<Proc> {
        self.running.process()
    }

    /// Where a port of the container is on this machine, `127.0.0.1:<port>`, once the program has started.
    pub fn address(&self, port: i32) -> Option<String> {
        let ports = self.running.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.get(&port).map(|port| format!("127.0.0.1:{port}"))
    }

    /// Waits until the program runs.
    pub async fn until_running(&self, limit: Duration) -> Result<Proc> {
        wait::poll(limit, "the pod's program runs", || async { self.process().is_some() }).await?;
        self.process().context("the pod's program has just ended")
    }
}

struct Kubelet {
    base: Base,
    spoke: Arc<Spoke>,
    options: PodOptions,
    running: Arc<Running>,
}

impl Kubelet {
    async fn follow(&self) {
        let (sender, mut template) = watch::channel(None);
        let running = async {
            loop {
                let current: Option<PodTemplateSpec> = template.borrow_and_update().clone();
                let keep_running = async {
                    match current {
                        Some(template) => self.keep_running(&template).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = keep_running => {}
                    _ = template.changed() => {}
                }
                self.end().await;
            }
        };
        tokio::join!(self.watch(&sender), running);
    }

    async fn watch(&self, template: &watch::Sender<Option<PodTemplateSpec>>) {
        let deployments: Api<Deployment> = Api::namespaced(self.spoke.client(), &self.options.namespace);
        let changes = watch_object(deployments, &self.options.deployment).default_backoff();
        pin_mut!(changes);
        while let Some(change) = changes.next().await {
            let Ok(deployment) = change else { continue };
            let alive = deployment.filter(|it| it.metadata.deletion_timestamp.is_none());
            let fresh = alive.and_then(|it| Some(it.spec?.template));
            template.send_if_modified(|old| {
                let differs = *old != fresh;
                *old = fresh;
                differs
            });
        }
    }

    /// For ever; whoever cancels this ends the process.
    async fn keep_running(&self, template: &PodTemplateSpec) {
        match self.run(template).await {
            Ok(never) => match never {},
            Err(error) => {
                let (deployment, spoke) = (&self.options.deployment, self.spoke.name());
                progress::line(&format!("lab: pod of {deployment} on {spoke}: {error:#}"));
                std::future::pending::<()>().await;
            }
        }
    }

    async fn run(&self, template: &PodTemplateSpec) -> Result<Infallible> {
        let spec = template.spec.as_ref().context("the template has no spec")?;
        let container = spec.containers.first().context("the template has no container")?;
        let account = spec.service_account_name.as_deref().unwrap_or("default");
        let pod = self.spoke.dir().join("pods").join(&self.options.deployment);
        let volumes = spec.volumes.iter().flatten().map(|volume| LocalVolume::new(volume, &pod));
        let volumes: Vec<LocalVolume> = volumes.collect::<Result<_>>()?;
        let program = async {
            for volume in &volumes {
                volume.ready.subscribe().wait_for(|ready| *ready).await.context("a volume's watch ended")?;
            }
            let kubeconfig = self.kubeconfig(account).await;
            let name = format!("{}-{}", self.spoke.name(), self.options.deployment);
            let container = LocalContainer::new(&name, container, &volumes, &kubeconfig, &self.options)?;
            self.keep_process(container).await
        };
        let client = self.spoke.client();
        let namespace = &self.options.namespace;
        let following = futures::future::join_all(volumes.iter().map(|it| it.follow(&client, namespace)));
        tokio::select! {
            result = program => result,
            _ = following, if !volumes.is_empty() => anyhow::bail!("the watches of the volumes ended"),
        }
    }

    /// The account comes with the same ManifestWork as the Deployment, perhaps later.
    async fn kubeconfig(&self, account: &str) -> PathBuf {
        loop {
            if let Ok(path) = self.spoke.kubeconfig_as(&self.options.namespace, account).await {
                return path;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Starts the program and starts it again, after a pause, whenever it ends.
    async fn keep_process(&self, container: LocalContainer) -> Result<Infallible> {
        *self.running.ports.lock().unwrap_or_else(PoisonError::into_inner) = container.ports;
        let process = self.start(container.program).await?;
        let mut pause = FIRST_PAUSE;
        loop {
            let begin = Instant::now();
            let exit =
                self.observe(&process, container.readiness.as_ref(), container.liveness.as_ref()).await?;
            self.report(0).await;
            progress::line(&format!("lab: {} ended with {exit}, starts again in {pause:?}", process.name()));
            if begin.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            self.start_again(&process).await?;
        }
    }

    /// Reports readiness while the process runs, and kills it when its liveness probe fails; returns how it ended.
    async fn observe(
        &self,
        process: &Proc,
        readiness: Option<&Check>,
        liveness: Option<&Check>,
    ) -> Result<Exit> {
        tokio::select! {
            exit = process.wait() => exit,
            never = self.report_readiness(readiness) => match never {},
            never = guard(process, liveness) => match never {},
        }
    }

    async fn report_readiness(&self, check: Option<&Check>) -> Infallible {
        let mut reported = None;
        loop {
            let ready = match check {
                Some(check) => check.is_fine().await,
                None => true,
            };
            if reported != Some(ready) {
                self.report(i32::from(ready)).await;
                reported = Some(ready);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// In a task of its own, so that cancelling the caller cannot lose a process that has just started.
    async fn start(&self, program: Program) -> Result<Proc> {
        let (base, running) = (self.base.clone(), self.running.clone());
        let starting = tokio::spawn(async move {
            let _gate = running.gate.lock().await;
            let process = base.spawn(program).await?;
            running.set(Some(process.clone()));
            Ok(process)
        });
        starting.await?
    }

    async fn start_again(&self, process: &Proc) -> Result<()> {
        let (process, running) = (process.clone(), self.running.clone());
        let starting = tokio::spawn(async move {
            let _gate = running.gate.lock().await;
            process.start_again().await
        });
        starting.await?
    }

    async fn end(&self) {
        let _gate = self.running.gate.lock().await;
        if let Some(process) = self.running.set(None) {
            let _ = process.terminate().await;
        }
    }

    /// Status of the Deployment, as its controllers would write it.
    async fn report(&self, ready: i32) {
        let deployments: Api<Deployment> = Api::namespaced(self.spoke.client(), &self.options.namespace);
        let name = &self.options.deployment;
        let Ok(deployment) = deployments.get(name).await else { return };
        let status = json!({"status": {
            "observedGeneration": deployment.metadata.generation, "replicas": 1, "updatedReplicas": 1,
            "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": 1 - ready,
        }});
        let _ = deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
    }
}

/// Kills the process when its liveness probe has failed often enough.
async fn guard(process: &Proc, check: Option<&Check>) -> Infallible {
    let Some(check) = check else { return std::future::pending().await };
    let mut failures = 0;
    loop {
        tokio::time::sleep(check.period).await;
        failures = if check.is_fine().await { 0 } else { failures + 1 };
        if failures >= check.failures {
            progress::line(&format!("lab: {} is not alive, killing it", process.name()));
            let _ = process.kill().await;
        }
    }
}
