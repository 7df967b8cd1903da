//! A real hub and real spokes as plain processes on one machine, without containers.
//!
//! ```text
//! test binary -- Lab --> supervisor --> etcd --> kube-apiserver + controller manager "hub" + OCM's controllers
//!                                            \-> kube-apiserver + controller manager "spoke1" + OCM's agents
//!                                            \-> addon-manager and addon-agent, under the rights that we ship
//! ```
//!
//! One lab per test binary, started by the first test that asks ([`Lab::shared`]); tests run on the lab's runtime
//! ([`run`]). The Go programs are built once into a cache ([`tools`]). On failure the lab's directory with all logs is
//! kept and its path printed; on success it is removed. Everything ends with the test binary ([`supervisor`]).
//!
//! No kubelet, no scheduler: the lab starts what a pod of the product would run ([`pod`]). What needs hardware or
//! OpenShift is simulated outside of this module.

pub mod apiserver;
pub mod apply;
pub mod audit;
pub mod base;
pub mod cache;
pub mod http;
pub mod hub;
pub mod klusterlet;
pub mod kubeconfig;
pub mod pki;
pub mod pod;
pub mod product;
pub mod progress;
pub mod spoke;
pub mod supervisor;
pub mod tools;
pub mod wait;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::{ApiResource, GroupVersionKind};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

pub use apiserver::ApiServer;
pub use base::Base;
pub use hub::{Crds, Hub};
pub use spoke::Spoke;

/// A hub, and spokes as they are asked for.
#[derive(Debug)]
pub struct Lab {
    base: Base,
    hub: Hub,
    spokes: Mutex<BTreeMap<String, Arc<OnceCell<Arc<Spoke>>>>>,
}

static SHARED: OnceCell<Lab> = OnceCell::const_new();

impl Lab {
    /// Starts a lab of its own. Prefer [`Lab::shared`] in tests.
    pub async fn start() -> Result<Self> {
        Self::start_with(&Crds::Ours).await
    }

    /// Starts a lab of its own whose hub has these CRDs.
    pub async fn start_with(crds: &Crds) -> Result<Self> {
        let dir = new_dir()?;
        let base = Base::start(&dir).await.inspect_err(|_| keep("the lab did not start"))?;
        let hub = Hub::start(&base, crds).await.inspect_err(|_| keep("the hub did not start"))?;
        Ok(Self { base, hub, spokes: Mutex::default() })
    }

    /// The lab of this test binary, started by the first caller.
    pub async fn shared() -> Result<&'static Self> {
        // On the lab's own runtime, whatever the runtime of the caller: the lab outlives single tests.
        runtime()?.spawn(async { SHARED.get_or_try_init(Self::start).await }).await?
    }

    /// The hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Directory, tools, supervisor and etcd.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The spoke `name`, started if it does not run yet. It has not joined.
    pub async fn spoke(&self, name: &str) -> Result<Arc<Spoke>> {
        let cell = self
            .spokes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name.to_owned())
            .or_default()
            .clone();
        let spoke =
            cell.get_or_try_init(|| async { Spoke::start(&self.base, name).await.map(Arc::new) }).await?;
        Ok(spoke.clone())
    }

    /// The spoke `name`, joined as the cluster of the same name and available.
    pub async fn joined_spoke(&self, name: &str) -> Result<Arc<Spoke>> {
        let spoke = self.spoke(name).await?;
        if spoke.cluster().is_none() {
            spoke.join(&self.hub, name).await?;
        }
        spoke.until_available(&self.hub, Duration::from_mins(1)).await?;
        Ok(spoke)
    }

    /// Ends everything and removes the directory (unless something failed); waits until it is done.
    pub async fn stop(self) -> Result<()> {
        self.base.supervisor().stop().await
    }
}

/// The runtime of labs and of the tests that use them: clients and simulators live on it beyond a single test.
pub fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let fresh = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    Ok(RUNTIME.get_or_init(|| fresh.unwrap_or_else(|error| no_runtime(&error))))
}

#[expect(clippy::panic, reason = "without a runtime there is no test to fail in a better way")]
fn no_runtime(error: &std::io::Error) -> Runtime {
    panic!("no runtime: {error}")
}

/// Runs a test on the lab's runtime: `#[test] fn name() -> Result<()> { lab::run(async { ... }) }`.
pub fn run<F: Future<Output = Result<()>>>(test: F) -> Result<()> {
    runtime()?.block_on(test).inspect_err(|error| keep(&format!("{error:#}")))
}

static DIRS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A fresh directory for a lab: below `$OCLOUD_LAB_DIR`, else below the directory for temporary files.
fn new_dir() -> Result<PathBuf> {
    let parent = std::env::var_os("OCLOUD_LAB_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&parent).with_context(|| format!("creating {}", parent.display()))?;
    let dir = tempfile::Builder::new().prefix("ocloud-lab-").tempdir_in(&parent)?.keep();
    DIRS.lock().unwrap_or_else(PoisonError::into_inner).push(dir.clone());
    keep_on_failure()?;
    Ok(dir)
}

/// Keeps the directories of this process's labs, and says where they are.
pub fn keep(reason: &str) {
    let mut news = false;
    for dir in DIRS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(dir.join(supervisor::KEEP));
        if let Ok(mut file) = file {
            news |= file.metadata().is_ok_and(|data| data.len() == 0);
            let _ = writeln!(file, "{reason}");
        }
    }
    if news {
        progress::line(&whereabouts());
    }
}

/// Where the logs are, for messages of failures.
pub fn whereabouts() -> String {
    let dirs = DIRS.lock().unwrap_or_else(PoisonError::into_inner);
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    match dirs.as_slice() {
        [] => "no lab was started".to_owned(),
        dirs => format!("lab directory (kept on failure, logs in logs/): {}", dirs.join(", ")),
    }
}

/// A panic in any test and SIGTERM (a time limit) keep the directory.
fn keep_on_failure() -> Result<()> {
    static HOOK: Once = Once::new();
    static TERM: OnceLock<()> = OnceLock::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            previous(panic);
            keep(&panic.to_string());
        }));
    });
    if TERM.set(()).is_ok() {
        let mut term = {
            let _inside = runtime()?.enter();
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?
        };
        runtime()?.spawn(async move {
            term.recv().await;
            keep("ended by SIGTERM");
            std::process::exit(143);
        });
    }
    Ok(())
}

/// A kind by its names, where no Rust type is needed.
pub fn dynamic(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}
