//! From a container's description to a process of this machine: paths of volumes become directories of the lab, ports
//! become free ports of 127.0.0.1 (a pod has all ports for itself; two pods of a lab have not).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Container, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::PodOptions;
use super::volume::LocalVolume;
use crate::lab::cache;
use crate::lab::http;
use crate::lab::supervisor::{Program, Rank};

/// A container that is ready to start.
pub(super) struct LocalContainer {
    pub(super) program: Program,
    pub(super) readiness: Option<Check>,
    pub(super) liveness: Option<Check>,
    /// The port of this machine for each port of the container.
    pub(super) ports: BTreeMap<i32, u16>,
}

/// A probe of a running container.
#[derive(Clone, Debug)]
pub(super) struct Check {
    address: String,
    path: String,
    pub(super) period: Duration,
    pub(super) failures: u32,
}

impl Check {
    fn new(probe: &Probe, ports: &BTreeMap<i32, u16>) -> Option<Self> {
        let get = probe.http_get.as_ref()?;
        let port = match &get.port {
            IntOrString::Int(port) => ports.get(port).copied()?,
            IntOrString::String(_) => return None,
        };
        let seconds = probe.period_seconds.unwrap_or(10);
        Some(Self {
            address: format!("127.0.0.1:{port}"),
            path: get.path.clone().unwrap_or_else(|| "/".to_owned()),
            period: Duration::from_secs(u64::try_from(seconds).unwrap_or(10)),
            failures: u32::try_from(probe.failure_threshold.unwrap_or(3)).unwrap_or(3),
        })
    }

    pub(super) async fn is_fine(&self) -> bool {
        http::is_fine(&self.address, &self.path).await
    }
}

impl LocalContainer {
    pub(super) fn new(
        name: &str,
        container: &Container,
        volumes: &[LocalVolume],
        kubeconfig: &Path,
        options: &PodOptions,
    ) -> Result<Self> {
        let mut ports = BTreeMap::new();
        for port in container.ports.iter().flatten() {
            ports.insert(port.container_port, cache::free_port()?);
        }
        let here = Here::new(container, volumes, &ports)?;
        let pod = format!("{}-0", options.deployment);
        let mut program = Program::new(name, &options.program, Rank::Product)
            .env("KUBECONFIG", kubeconfig.display().to_string())
            .env("HOSTNAME", &pod)
            .env("RUST_BACKTRACE", "1");
        for variable in container.env.iter().flatten() {
            let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
            let value = match (&variable.value, field.map(|field| field.field_path.as_str())) {
                (Some(value), _) => here.translate(value),
                (None, Some("metadata.name")) => pod.clone(),
                (None, Some("metadata.namespace")) => options.namespace.clone(),
                (None, _) => continue,
            };
            program = program.env(&variable.name, value);
        }
        for (name, value) in &options.environment {
            program = program.env(name, value);
        }
        let arguments = container.args.iter().flatten().map(|argument| here.translate(argument));
        let program = program.args(arguments).args(options.arguments.iter().cloned());
        let check = |probe: &Option<Probe>| probe.as_ref().and_then(|probe| Check::new(probe, &ports));
        let readiness = check(&container.readiness_probe);
        let liveness = check(&container.liveness_probe);
        Ok(Self { program, readiness, liveness, ports })
    }
}

/// What stands for what on this machine.
struct Here {
    texts: Vec<(String, String)>,
}

impl Here {
    fn new(container: &Container, volumes: &[LocalVolume], ports: &BTreeMap<i32, u16>) -> Result<Self> {
        let mut texts = Vec::new();
        for mount in container.volume_mounts.iter().flatten() {
            let volume = volumes.iter().find(|volume| volume.name == mount.name);
            let volume = volume.with_context(|| format!("no volume {}", mount.name))?;
            texts.push((mount.mount_path.trim_end_matches('/').to_owned(), volume.dir.display().to_string()));
        }
        for (port, free) in ports {
            for any in ["0.0.0.0", "[::]"] {
                texts.push((format!("{any}:{port}"), format!("127.0.0.1:{free}")));
            }
        }
        // The longest first: one mount may lie in another.
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Ok(Self { texts })
    }

    fn translate(&self, text: &str) -> String {
        self.texts.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}
