//! Volumes of a pod: directories that follow a Secret or a ConfigMap the way a kubelet keeps them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Volume};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;

use crate::lab::progress;

/// Where the content of a volume comes from.
#[derive(Clone, Debug)]
enum Source {
    Secret(String),
    ConfigMap(String),
    Empty,
}

/// One volume as a directory of the lab.
#[derive(Debug)]
pub(super) struct LocalVolume {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    source: Source,
    /// Content has arrived, or the pod starts without it.
    pub(super) ready: watch::Sender<bool>,
}

impl LocalVolume {
    /// `pod` is the directory of the pod's volumes.
    pub(super) fn new(volume: &Volume, pod: &Path) -> Result<Self> {
        let secret = volume.secret.as_ref().and_then(|it| Some((it.secret_name.clone()?, it.optional)));
        let map = volume.config_map.as_ref().map(|it| (it.name.clone(), it.optional));
        let (source, optional) = match (secret, map) {
            (Some((name, optional)), _) => (Source::Secret(name), optional.unwrap_or(false)),
            (None, Some((name, optional))) => (Source::ConfigMap(name), optional.unwrap_or(false)),
            (None, None) => (Source::Empty, true),
        };
        let dir = pod.join(&volume.name);
        fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
        Ok(Self { name: volume.name.clone(), dir, source, ready: watch::channel(optional).0 })
    }

    /// Keeps the directory current, for ever.
    pub(super) async fn follow(&self, client: &Client, namespace: &str) {
        match &self.source {
            Source::Secret(name) => {
                self.mirror(Api::<Secret>::namespaced(client.clone(), namespace), name).await;
            }
            Source::ConfigMap(name) => {
                self.mirror(Api::<ConfigMap>::namespaced(client.clone(), namespace), name).await;
            }
            Source::Empty => {}
        }
        std::future::pending::<()>().await;
    }

    async fn mirror<K: Content>(&self, api: Api<K>, name: &str) {
        let changes = watch_object(api, name).default_backoff();
        pin_mut!(changes);
        while let Some(change) = changes.next().await {
            // A kubelet leaves the files of an object that is gone.
            let Ok(Some(object)) = change else { continue };
            let version = object.resource_version().unwrap_or_default();
            match project(&version, &object.files(), &self.dir) {
                Ok(()) => {
                    self.ready.send_replace(true);
                }
                Err(error) => progress::line(&format!("lab: volume {name}: {error:#}")),
            }
        }
    }
}

/// What has files for a volume.
trait Content: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static {
    fn files(&self) -> BTreeMap<String, Vec<u8>>;
}

impl Content for Secret {
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone())).collect()
    }
}

impl Content for ConfigMap {
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let binary = self.binary_data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone()));
        let text = self.data.iter().flatten().map(|(key, value)| (key.clone(), value.clone().into_bytes()));
        text.chain(binary).collect()
    }
}

/// Writes files into a directory the way a kubelet does: they are links into `..data`, which is a link to a directory
/// of this version, and that link is replaced in one step.
fn project(version: &str, files: &BTreeMap<String, Vec<u8>>, dir: &Path) -> Result<()> {
    let version = format!("..{version}");
    let target = dir.join(&version);
    fs::create_dir_all(&target).with_context(|| format!("creating {}", target.display()))?;
    for (key, value) in files {
        fs::write(target.join(key), value)?;
    }
    let (link, fresh) = (dir.join("..data"), dir.join("..data_tmp"));
    let _ = fs::remove_file(&fresh);
    let old = fs::read_link(&link).ok();
    symlink(&version, &fresh)?;
    fs::rename(&fresh, &link)?;
    for key in files.keys().filter(|key| fs::symlink_metadata(dir.join(key)).is_err()) {
        symlink(Path::new("..data").join(key), dir.join(key))?;
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("..") && !entry.path().exists() {
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

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_volume_follows_its_object() {
        let dir = tempfile::tempdir().unwrap();
        project("1", &files(&[("a", "1"), ("b", "2")]), dir.path()).unwrap();
        project("2", &files(&[("a", "3")]), dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "3");
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["..2", "..data", "a"]);
    }
}
