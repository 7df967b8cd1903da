//! The product's programs: built once per test binary, and the manager as a process under the rights of its chart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::OnceCell;

use super::base::Base;
use super::cache;
use super::http;
use super::hub::Hub;
use super::klusterlet::ADDON_NAMESPACE;
use super::pod::{Pod, PodOptions};
use super::progress::Step;
use super::spoke::Spoke;
use super::supervisor::{Exit, Kind, Proc, Program, Rank};

/// Where the built programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `addon-manager`.
    pub manager: PathBuf,
    /// `addon-agent`.
    pub agent: PathBuf,
}

/// Which optimisation the programs are built with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As the tests.
    #[default]
    Dev,
    /// For measurements.
    Release,
}

/// Builds manager and agent, once per process and profile.
pub async fn programs(profile: Profile) -> Result<Programs> {
    static DEV: OnceCell<Programs> = OnceCell::const_new();
    static RELEASE: OnceCell<Programs> = OnceCell::const_new();
    let cell = match profile {
        Profile::Dev => &DEV,
        Profile::Release => &RELEASE,
    };
    let programs = cell.get_or_try_init(|| async move {
        let mut arguments = vec!["-p", "addon-manager", "-p", "addon-agent"];
        if profile == Profile::Release {
            arguments.push("--release");
        }
        let mut built = build_all(&arguments).await?;
        let mut take = |name: &str| built.remove(name).with_context(|| format!("cargo built no {name}"));
        Ok::<_, anyhow::Error>(Programs { manager: take("addon-manager")?, agent: take("addon-agent")? })
    });
    programs.await.cloned()
}

/// Builds with cargo and returns the path of the program `name`.
pub(super) async fn build(arguments: &[&str], name: &str) -> Result<PathBuf> {
    build_all(arguments).await?.remove(name).with_context(|| format!("cargo built no {name}"))
}

/// `cargo build`; returns program names with their paths, as cargo tells them.
async fn build_all(arguments: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
        target: Option<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let mut step = Step::start(format!("lab: cargo build {}", arguments.join(" ")));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = tokio::process::Command::new(cargo);
    // What cargo told this process about its own package would make build scripts run, and crates compile, again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"].iter().any(|p| text.starts_with(p))
        {
            command.env_remove(&name);
        }
    }
    let mut child = command
        .args(["build", "--message-format", "json-render-diagnostics"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("starting cargo")?;
    let mut errors = child.stderr.take().context("piped")?;
    let errors = tokio::spawn(async move {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text).await;
        text
    });
    let mut lines = BufReader::new(child.stdout.take().context("piped")?).lines();
    let mut programs = BTreeMap::new();
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => {
                    if let Ok(Message { executable: Some(path), target: Some(target) }) = serde_json::from_str(&line) {
                        programs.insert(target.name, path);
                    }
                }
                None => break,
            },
            _ = tick.tick() => step.tick(),
        }
    }
    let status = child.wait().await?;
    if !status.success() {
        step.done("failed");
        bail!("cargo build {} failed:\n{}", arguments.join(" "), errors.await?);
    }
    step.done("done");
    Ok(programs)
}

/// How to start the manager.
#[derive(Clone, Debug, Default)]
pub struct ManagerOptions {
    /// Name of the process, for several replicas; `manager` if empty.
    pub name: String,
    /// Arguments of its command line, after those that the lab needs.
    pub arguments: Vec<String>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Build profile.
    pub profile: Profile,
}

/// The manager as a process, with the rights of its ServiceAccount and no others.
#[derive(Clone, Debug)]
pub struct Manager {
    process: Proc,
    account: (String, String),
    health: String,
}

impl Manager {
    /// Applies the rights found in the chart, takes a token of the manager's ServiceAccount and starts it.
    pub async fn start(base: &Base, hub: &Hub, options: &ManagerOptions) -> Result<Self> {
        let programs = programs(options.profile).await?;
        let account = hub.install_rights(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts")).await?;
        let kubeconfig = hub.kubeconfig_as(&account.0, &account.1).await?;
        let name = if options.name.is_empty() { "manager" } else { &options.name };
        let health = format!("127.0.0.1:{}", cache::free_port()?);
        let mut program = Program::new(name, &programs.manager, Rank::Product)
            .flag("--kubeconfig", kubeconfig.display())
            .flag("--namespace", &account.0)
            .flag("--health-address", &health)
            .flag("--identity", name)
            .args(options.arguments.iter().cloned())
            .env("RUST_BACKTRACE", "1");
        for (name, value) in &options.environment {
            program = program.env(name, value);
        }
        Ok(Self { process: base.spawn(program).await?, account, health })
    }

    /// Waits until `/readyz` is fine.
    pub async fn until_ready(&self, limit: Duration) -> Result<()> {
        self.process.until_ready("/readyz is fine", limit, || http::is_fine(&self.health, "/readyz")).await
    }

    /// Its metrics, as text.
    pub async fn metrics(&self) -> Result<String> {
        Ok(http::get(&self.health, "/metrics").await?.1)
    }

    /// `host:port` of `/healthz`, `/readyz` and `/metrics`.
    pub fn health_address(&self) -> &str {
        &self.health
    }

    /// The process.
    pub fn process(&self) -> &Proc {
        &self.process
    }

    /// The user name under which its requests appear in the audit log.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.account.0, self.account.1)
    }

    /// `kill -9`.
    pub async fn kill(&self) -> Result<Exit> {
        self.process.kill().await
    }

    /// Ends it if it runs (`kill -9`), and starts it again with the same command.
    pub async fn restart(&self) -> Result<()> {
        self.process.kill().await?;
        self.process.start_again().await
    }

    /// Freezes it: leases run out, watches stay open.
    pub async fn freeze(&self) -> Result<bool> {
        self.process.signal(Kind::Stop).await
    }

    /// Ends a freeze.
    pub async fn thaw(&self) -> Result<bool> {
        self.process.signal(Kind::Cont).await
    }
}

/// Name of the agent's Deployment on a spoke.
pub const AGENT_DEPLOYMENT: &str = "ocloud-agent";

/// Runs the agent on a spoke as soon as the add-on's ManifestWork has brought its Deployment, with exactly the files and
/// rights that its pod would have.
pub async fn agent(base: &Base, spoke: &Arc<Spoke>) -> Result<Pod> {
    let programs = programs(Profile::Dev).await?;
    let options = PodOptions {
        namespace: ADDON_NAMESPACE.to_owned(),
        deployment: AGENT_DEPLOYMENT.to_owned(),
        program: programs.agent,
        environment: BTreeMap::new(),
        arguments: Vec::new(),
    };
    Pod::follow(base, spoke.clone(), options)
}
