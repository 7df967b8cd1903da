//! The Go programs of the lab, built once from the module proxy with pinned `go.mod` and `go.sum` (no Go source of
//! ours), into the cache directory, in a folder whose name contains the hash of both files.
//!
//! `KUBEBUILDER_ASSETS` is honoured for etcd, kube-apiserver and kubectl.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::cache::{self, Lock};
use super::progress::{self, Step};

/// Version that the Kubernetes programs are told to have; without it kube-apiserver takes itself for v0.0.0.
const KUBERNETES_FLAGS: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36";

/// One program of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// One instance stores the objects of all API servers, each under its own prefix.
    Etcd,
    /// Hub and each spoke.
    ApiServer,
    /// Signs certificates, aggregates roles, collects garbage, finishes namespaces.
    ControllerManager,
    /// For people and for the demo; the lab itself talks to the API.
    Kubectl,
    /// OCM: controller on the hub, agent on the spoke.
    Registration,
    /// OCM: chooses clusters.
    Placement,
    /// OCM: add-on manager on the hub.
    Addon,
    /// OCM: registration and work agent in one process.
    RegistrationOperator,
    /// OCM: work agent on the spoke.
    Work,
    /// Governance: copies policies to cluster namespaces (hub).
    PolicyPropagator,
    /// Governance: evaluates configuration policies (spoke).
    ConfigPolicyController,
    /// Governance: brings policies to the spoke and their status back.
    PolicyFramework,
}

impl Tool {
    /// What the first path needs, in building order: the API server first, since everything waits for it.
    pub const BASE: [Self; 9] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Kubectl,
        Self::Registration,
        Self::Placement,
        Self::Addon,
        Self::Work,
        Self::RegistrationOperator,
    ];

    /// Built only when a test asks for policies.
    pub const GOVERNANCE: [Self; 3] =
        [Self::PolicyPropagator, Self::ConfigPolicyController, Self::PolicyFramework];

    /// File name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Registration => "registration",
            Self::Placement => "placement",
            Self::Addon => "addon",
            Self::RegistrationOperator => "registration-operator",
            Self::Work => "work",
            Self::PolicyPropagator => "governance-policy-propagator",
            Self::ConfigPolicyController => "config-policy-controller",
            Self::PolicyFramework => "governance-policy-framework-addon",
        }
    }

    fn package(self) -> String {
        let name = self.name();
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            Self::ApiServer | Self::ControllerManager | Self::Kubectl => {
                format!("k8s.io/kubernetes/cmd/{name}")
            }
            Self::Registration | Self::Placement | Self::Addon | Self::RegistrationOperator | Self::Work => {
                format!("open-cluster-management.io/ocm/cmd/{name}")
            }
            Self::PolicyPropagator | Self::ConfigPolicyController | Self::PolicyFramework => {
                format!("open-cluster-management.io/{name}")
            }
        }
    }

    fn module(self) -> GoModule {
        match self {
            Self::Etcd | Self::ApiServer | Self::ControllerManager | Self::Kubectl => GoModule::Kubernetes,
            Self::Registration | Self::Placement | Self::Addon | Self::RegistrationOperator | Self::Work => {
                GoModule::Ocm
            }
            Self::PolicyPropagator | Self::ConfigPolicyController | Self::PolicyFramework => {
                GoModule::Governance
            }
        }
    }

    /// `KUBEBUILDER_ASSETS` may hold a ready program.
    fn ready_made(self) -> Option<PathBuf> {
        if !matches!(self, Self::Etcd | Self::ApiServer | Self::Kubectl) {
            return None;
        }
        let path = Path::new(&std::env::var_os("KUBEBUILDER_ASSETS")?).join(self.name());
        path.is_file().then_some(path)
    }
}

/// One folder of `tests/tools`: a pinned set of Go dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GoModule {
    Kubernetes,
    Ocm,
    Governance,
}

impl GoModule {
    fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Ocm => "ocm",
            Self::Governance => "governance",
        }
    }

    fn source(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tools").join(self.name())
    }

    fn flags(self) -> &'static str {
        match self {
            Self::Kubernetes => KUBERNETES_FLAGS,
            Self::Ocm | Self::Governance => "-s -w",
        }
    }

    /// `<cache>/<module>-<first 16 hex digits of the hash of go.mod and go.sum>`.
    fn dir(self) -> Result<PathBuf> {
        let mut hash = Sha256::new();
        for file in ["go.mod", "go.sum"] {
            let path = self.source().join(file);
            hash.update(fs::read(&path).with_context(|| format!("reading {}", path.display()))?);
        }
        let hex = hash.finalize().iter().take(8).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        Ok(cache::dir()?.join(format!("{}-{hex}", self.name())))
    }

    /// Files of Go modules that the lab applies: (module, folder in it, folder in `assets`).
    fn assets(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Kubernetes => &[],
            Self::Ocm => &[
                ("open-cluster-management.io/api", "cluster/v1", "api/cluster/v1"),
                ("open-cluster-management.io/api", "cluster/v1alpha1", "api/cluster/v1alpha1"),
                ("open-cluster-management.io/api", "cluster/v1beta1", "api/cluster/v1beta1"),
                ("open-cluster-management.io/api", "cluster/v1beta2", "api/cluster/v1beta2"),
                ("open-cluster-management.io/api", "work/v1", "api/work/v1"),
                ("open-cluster-management.io/api", "work/v1alpha1", "api/work/v1alpha1"),
                ("open-cluster-management.io/api", "addon/v1alpha1", "api/addon/v1alpha1"),
                ("open-cluster-management.io/ocm", "manifests/klusterlet/managed", "klusterlet/managed"),
                (
                    "open-cluster-management.io/ocm",
                    "manifests/klusterlet/management",
                    "klusterlet/management",
                ),
            ],
            Self::Governance => &[
                ("open-cluster-management.io/governance-policy-propagator", "deploy/crds", "propagator"),
                (
                    "open-cluster-management.io/config-policy-controller",
                    "deploy/crds",
                    "config-policy-controller",
                ),
            ],
        }
    }
}

/// Programs that are ready to run, and the manifests that belong to them.
#[derive(Clone, Debug)]
pub struct Tools {
    paths: BTreeMap<Tool, PathBuf>,
    assets: PathBuf,
}

impl Tools {
    /// Kubernetes and OCM, built now if they are not in the cache. Takes about 10 minutes on two cold cores.
    /// Blocks: call it from a thread that may.
    pub fn base() -> Result<Self> {
        Ok(Self { paths: ensure(&Tool::BASE)?, assets: ensure_assets(GoModule::Ocm)? })
    }

    /// The governance controllers (policies) alone, built when first asked for.
    pub fn governance() -> Result<Self> {
        Ok(Self { paths: ensure(&Tool::GOVERNANCE)?, assets: ensure_assets(GoModule::Governance)? })
    }

    /// Where a program is.
    pub fn path(&self, tool: Tool) -> Result<&Path> {
        self.paths
            .get(&tool)
            .map(PathBuf::as_path)
            .with_context(|| format!("{} is not part of this set", tool.name()))
    }

    /// Folder with the YAML files of the Go modules (see [`GoModule::assets`]).
    pub fn assets(&self) -> &Path {
        &self.assets
    }
}

fn ensure(tools: &[Tool]) -> Result<BTreeMap<Tool, PathBuf>> {
    let mut paths = BTreeMap::new();
    for &tool in tools {
        let path = match tool.ready_made() {
            Some(path) => path,
            None => tool.module().dir()?.join("bin").join(tool.name()),
        };
        paths.insert(tool, path);
    }
    let missing = |paths: &BTreeMap<Tool, PathBuf>| -> Vec<Tool> {
        tools.iter().copied().filter(|tool| !paths.get(tool).is_some_and(|path| path.is_file())).collect()
    };
    if missing(&paths).is_empty() {
        return Ok(paths);
    }
    let _lock = Lock::wait("build.lock")?;
    let missing = missing(&paths);
    let count = missing.len();
    for (index, tool) in missing.into_iter().enumerate() {
        if let Some(path) = paths.get(&tool) {
            build(tool, path, index + 1, count)?;
        }
    }
    Ok(paths)
}

fn build(tool: Tool, target: &Path, number: usize, count: usize) -> Result<()> {
    let module = tool.module();
    let dir = target.parent().context("a tool has a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    remove_unfinished(dir)?;
    let unfinished = dir.join(format!(".{}.{}.tmp", tool.name(), std::process::id()));
    let log = dir.join(format!("{}.log", tool.name()));
    let mut step = Step::start(format!("lab tools: building {} ({number} of {count})", tool.name()));
    let output = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
    let mut child = go(module)
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags", module.flags(), "-o"])
        .arg(&unfinished)
        .arg(tool.package())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .context("starting `go build`: the lab needs Go 1.26 or newer in PATH")?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(200));
        step.tick();
    };
    if !status.success() {
        let _ = fs::remove_file(&unfinished);
        step.done("failed");
        let text = fs::read_to_string(&log).unwrap_or_default();
        bail!(
            "go build {} failed ({status}); its output is in {}:\n{}",
            tool.package(),
            log.display(),
            last_lines(&text, 20)
        );
    }
    fs::rename(&unfinished, target).with_context(|| format!("moving {} into place", target.display()))?;
    let _ = fs::remove_file(&log);
    step.done("built");
    Ok(())
}

/// Removes what interrupted builds left; the caller holds the build lock.
fn remove_unfinished(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tmp") {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

fn go(module: GoModule) -> Command {
    let mut command = Command::new("go");
    command.current_dir(module.source()).env("GOWORK", "off").stdin(Stdio::null());
    command
}

/// The end of a text, for an error message.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// Copies the manifests out of the Go module cache once, so that a lab with built tools needs no Go.
fn ensure_assets(module: GoModule) -> Result<PathBuf> {
    let target = module.dir()?.join("assets");
    if target.is_dir() {
        return Ok(target);
    }
    let _lock = Lock::wait("build.lock")?;
    if target.is_dir() {
        return Ok(target);
    }
    progress::line(&format!("lab tools: copying the manifests of {}", module.name()));
    let unfinished = module.dir()?.join(".assets.tmp");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).with_context(|| format!("removing {}", unfinished.display()))?;
    }
    let mut sources: BTreeMap<&str, PathBuf> = BTreeMap::new();
    for (name, from, to) in module.assets() {
        let source = match sources.get(name) {
            Some(source) => source.clone(),
            None => module_source(module, name)?,
        };
        copy_yaml(&source.join(from), &unfinished.join(to))?;
        sources.insert(name, source);
    }
    fs::rename(&unfinished, &target).with_context(|| format!("moving {} into place", target.display()))?;
    Ok(target)
}

/// Where the module cache has a dependency, in the version pinned by the `go.mod` of `module`.
fn module_source(module: GoModule, name: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Download {
        #[serde(rename = "Dir")]
        dir: PathBuf,
    }
    let output = go(module)
        .args(["mod", "download", "-json", name])
        .output()
        .context("starting `go mod download`: the lab needs Go 1.26 or newer in PATH")?;
    if !output.status.success() {
        bail!("go mod download {name} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let download: Download = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("answer of go mod download {name}"))?;
    Ok(download.dir)
}

fn copy_yaml(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml")
            && let Some(name) = path.file_name()
        {
            let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            fs::write(to.join(name), text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_a_tool_line_of_its_module() {
        for tool in Tool::BASE.into_iter().chain(Tool::GOVERNANCE) {
            let module = fs::read_to_string(tool.module().source().join("go.mod")).unwrap();
            assert!(module.contains(&format!("\t{}\n", tool.package())), "{tool:?}");
        }
    }

    #[test]
    fn last_lines_are_the_end() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a", 5), "a");
    }
}
