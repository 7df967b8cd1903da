//! What a kubelet would do for one Deployment of a spoke: the lab has no kubelet, so this runs the container's program
//! as a process, with the account of the pod, its arguments and environment, and its Secret volumes as directories
//! that are kept current the way a kubelet does it.
//!
//! The only differences to a real pod: the ServiceAccount's token comes as a kubeconfig in `KUBECONFIG` instead of the
//! in-cluster files, and paths of volumes in arguments and environment point to the lab's directories.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodTemplateSpec, Secret, Volume};
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::base::Base;
use super::progress;
use super::spoke::Spoke;
use super::supervisor::{Proc, Program, Rank};
use super::wait;

/// A crashed program starts again after this time, doubled with each crash up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Follows one Deployment: runs its program while the Deployment exists. Dropping it stops following; the process stays
/// until the lab ends.
#[derive(Debug)]
pub struct Pod {
    follower: JoinHandle<()>,
    process: Arc<Mutex<Option<Proc>>>,
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.follower.abort();
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
        let process = Arc::new(Mutex::new(None));
        let kubelet = Kubelet { base: base.clone(), spoke, options, process: process.clone() };
        let follower = super::runtime()?.spawn(async move { Box::pin(kubelet.follow()).await });
        Ok(Self { follower, process })
    }

    /// The process, while the Deployment exists and its volumes are there.
    pub fn process(&self) -> Option<Proc> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
    process: Arc<Mutex<Option<Proc>>>,
}

impl Kubelet {
    async fn follow(&self) {
        let deployments: Api<Deployment> = Api::namespaced(self.spoke.client(), &self.options.namespace);
        let (sender, mut template) = watch::channel(None);
        let watching = async {
            let changes = watch_object(deployments, &self.options.deployment).default_backoff();
            pin_mut!(changes);
            while let Some(change) = changes.next().await {
                let Ok(deployment) = change else { continue };
                let alive = deployment.filter(|it| it.metadata.deletion_timestamp.is_none());
                let fresh = alive.and_then(|it| Some(it.spec?.template));
                sender.send_if_modified(|old: &mut Option<PodTemplateSpec>| {
                    let differs = *old != fresh;
                    *old = fresh;
                    differs
                });
            }
        };
        let running = async {
            loop {
                let current = template.borrow_and_update().clone();
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
        tokio::join!(watching, running);
    }

    /// Returns only when the template cannot be run; the caller ends the process when the template changes.
    async fn keep_running(&self, template: &PodTemplateSpec) {
        match self.run(template).await {
            Ok(never) => match never {},
            Err(error) => {
                progress::line(&format!(
                    "lab: pod of {} on {}: {error:#}",
                    self.options.deployment,
                    self.spoke.name()
                ));
                std::future::pending::<()>().await;
            }
        }
    }

    async fn run(&self, template: &PodTemplateSpec) -> Result<Infallible> {
        let spec = template.spec.as_ref().context("the template has no spec")?;
        let container = spec.containers.first().context("the template has no container")?;
        let account = spec.service_account_name.as_deref().unwrap_or("default");
        let volumes = self.volumes(spec.volumes.as_deref().unwrap_or_default());
        let secrets = volumes
            .iter()
            .filter_map(|volume| volume.secret.as_ref().map(|secret| (secret, volume.dir.as_path())));
        let mirrors: Vec<Mirror> = secrets.map(|(secret, dir)| self.mirror(secret, dir)).collect();
        let ready: Vec<watch::Receiver<bool>> =
            mirrors.iter().map(|mirror| mirror.ready.subscribe()).collect();
        let program = async {
            for mut ready in ready {
                ready.wait_for(|ready| *ready).await.context("the volume's watch ended")?;
            }
            let kubeconfig = loop {
                // The account comes with the same ManifestWork, perhaps later.
                match self.spoke.kubeconfig_as(&self.options.namespace, account).await {
                    Ok(path) => break path,
                    Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
                }
            };
            self.keep_process(self.program(container, &volumes, &kubeconfig)?).await
        };
        let mirroring = futures::future::join_all(mirrors.iter().map(Mirror::follow));
        tokio::select! {
            result = program => result,
            _ = mirroring, if !mirrors.is_empty() => bail!("the watches of the volumes ended"),
        }
    }

    fn volumes(&self, volumes: &[Volume]) -> Vec<LocalVolume> {
        let pods = self.spoke.dir().join("pods").join(&self.options.deployment);
        let local = volumes.iter().map(|volume| LocalVolume {
            name: volume.name.clone(),
            dir: pods.join(&volume.name),
            secret: volume
                .secret
                .as_ref()
                .and_then(|it| Some((it.secret_name.clone()?, it.optional.unwrap_or(false)))),
        });
        local.collect()
    }

    fn mirror(&self, (secret, optional): &(String, bool), dir: &Path) -> Mirror {
        Mirror {
            secrets: Api::namespaced(self.spoke.client(), &self.options.namespace),
            name: secret.clone(),
            dir: dir.to_owned(),
            ready: watch::channel(*optional).0,
        }
    }

    fn program(&self, container: &Container, volumes: &[LocalVolume], kubeconfig: &Path) -> Result<Program> {
        let mut paths = Vec::new();
        for mount in container.volume_mounts.iter().flatten() {
            let volume = volumes.iter().find(|volume| volume.name == mount.name);
            let volume = volume.with_context(|| format!("no volume {}", mount.name))?;
            fs::create_dir_all(&volume.dir).with_context(|| format!("creating {}", volume.dir.display()))?;
            paths.push((mount.mount_path.trim_end_matches('/').to_owned(), volume.dir.display().to_string()));
        }
        // The longest path first: one mount may lie in another.
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let local =
            |text: &str| paths.iter().fold(text.to_owned(), |text, (path, dir)| text.replace(path, dir));
        let name = format!("{}-{}", self.spoke.name(), self.options.deployment);
        let pod = format!("{}-0", self.options.deployment);
        let field = |path: &str| match path {
            "metadata.name" => pod.clone(),
            "metadata.namespace" => self.options.namespace.clone(),
            _ => String::new(),
        };
        let mut program = Program::new(name, &self.options.program, Rank::Product)
            .env("KUBECONFIG", kubeconfig.display().to_string())
            .env("HOSTNAME", &pod)
            .env("RUST_BACKTRACE", "1");
        for variable in container.env.iter().flatten() {
            let reference = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
            let value = match (&variable.value, reference) {
                (Some(value), _) => local(value),
                (None, Some(reference)) => field(&reference.field_path),
                (None, None) => continue,
            };
            program = program.env(&variable.name, value);
        }
        for (name, value) in &self.options.environment {
            program = program.env(name, value);
        }
        Ok(program
            .args(container.args.iter().flatten().map(|argument| local(argument)))
            .args(self.options.arguments.iter().cloned()))
    }

    /// Starts the program and starts it again, after a pause, whenever it ends.
    async fn keep_process(&self, program: Program) -> Result<Infallible> {
        let process = self.base.spawn(program).await?;
        let mut pause = FIRST_PAUSE;
        loop {
            self.set(Some(process.clone()));
            self.report(1).await;
            let begin = Instant::now();
            let exit = process.wait().await?;
            self.report(0).await;
            progress::line(&format!("lab: {} ended with {exit}, starts again in {pause:?}", process.name()));
            if begin.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            process.start_again().await?;
        }
    }

    fn set(&self, process: Option<Proc>) -> Option<Proc> {
        std::mem::replace(&mut *self.process.lock().unwrap_or_else(PoisonError::into_inner), process)
    }

    async fn end(&self) {
        if let Some(process) = self.set(None) {
            let _ = process.terminate().await;
        }
    }

    /// Status of the Deployment, as its controllers would write it.
    async fn report(&self, ready: i32) {
        let deployments: Api<Deployment> = Api::namespaced(self.spoke.client(), &self.options.namespace);
        let name = &self.options.deployment;
        let Ok(deployment) = deployments.get(name).await else {
            return;
        };
        let status = json!({"status": {
            "observedGeneration": deployment.metadata.generation, "replicas": 1, "updatedReplicas": 1,
            "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": 1 - ready,
        }});
        let _ = deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
    }
}

struct LocalVolume {
    name: String,
    dir: PathBuf,
    /// Name of the Secret, and whether the pod starts without it.
    secret: Option<(String, bool)>,
}

/// A Secret as a directory.
struct Mirror {
    secrets: Api<Secret>,
    name: String,
    dir: PathBuf,
    ready: watch::Sender<bool>,
}

impl Mirror {
    async fn follow(&self) {
        let changes = watch_object(self.secrets.clone(), &self.name).default_backoff();
        pin_mut!(changes);
        while let Some(change) = changes.next().await {
            // A kubelet leaves the files of a Secret that is gone.
            let Ok(Some(secret)) = change else { continue };
            match project(&secret, &self.dir) {
                Ok(()) => {
                    self.ready.send_replace(true);
                }
                Err(error) => {
                    progress::line(&format!("lab: volume of secret {}: {error:#}", secret.name_any()));
                }
            }
        }
    }
}

/// Writes a Secret into a directory the way a kubelet does: the files are links into `..data`, which is a link to a
/// directory of this version, and that link is replaced in one step.
fn project(secret: &Secret, dir: &Path) -> Result<()> {
    let version = format!("..{}", secret.resource_version().unwrap_or_default());
    let target = dir.join(&version);
    fs::create_dir_all(&target).with_context(|| format!("creating {}", target.display()))?;
    let data = secret.data.as_ref();
    for (key, value) in data.into_iter().flatten() {
        fs::write(target.join(key), &value.0)?;
    }
    let (link, fresh) = (dir.join("..data"), dir.join("..data_tmp"));
    let _ = fs::remove_file(&fresh);
    let old = fs::read_link(&link).ok();
    symlink(&version, &fresh)?;
    fs::rename(&fresh, &link)?;
    for key in data.into_iter().flatten().map(|(key, _)| key) {
        if fs::symlink_metadata(dir.join(key)).is_err() {
            symlink(Path::new("..data").join(key), dir.join(key))?;
        }
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let is_key = entry.file_name().to_str().is_some_and(|name| !name.starts_with(".."));
        if is_key && !entry.path().exists() {
            fs::remove_file(entry.path())?;
        }
    }
    if let Some(old) = old.filter(|old| *old != Path::new(&version)) {
        fs::remove_dir_all(dir.join(old))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;

    fn secret(version: &str, data: &[(&str, &str)]) -> Secret {
        let mut secret = Secret::default();
        secret.metadata.resource_version = Some(version.to_owned());
        let entries =
            data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        secret.data = Some(entries.collect());
        secret
    }

    #[test]
    fn a_volume_follows_its_secret() {
        let dir = tempfile::tempdir().unwrap();
        project(&secret("1", &[("a", "1"), ("b", "2")]), dir.path()).unwrap();
        project(&secret("2", &[("a", "3")]), dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "3");
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["..2", "..data", "a"]);
    }
}
