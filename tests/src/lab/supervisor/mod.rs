//! One supervisor process per lab: everything the lab starts hangs under it and ends with it.
//!
//! ```text
//! test binary --stdin/stdout, lines of JSON--> lab-supervisor (own process group) --> etcd, kube-apiserver, agents, product
//! ```

pub mod protocol;
mod serve;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::oneshot;

pub use protocol::{Exit, Kind, Rank};
use protocol::{Order, Outcome, Reply, Request, Spawn};
pub use serve::{KEEP, exec, group_members, serve};

/// A program to start under the supervisor.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    rank: Rank,
}

impl Program {
    /// `name` is unique in the lab: the log file is called `logs/<name>.log`.
    pub fn new(name: impl Into<String>, path: &Path, rank: Rank) -> Self {
        Self { name: name.into(), argv: vec![path.display().to_string()], env: BTreeMap::new(), rank }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.argv.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.argv.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds `--name value` as two arguments.
    #[must_use]
    pub fn flag(self, name: &str, value: impl std::fmt::Display) -> Self {
        self.arg(name).arg(value.to_string())
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

/// A running supervisor. When the last clone is dropped, or this process ends in any way, everything under it ends.
#[derive(Clone, Debug)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    group: u32,
    stdin: tokio::sync::Mutex<Option<ChildStdin>>,
    child: tokio::sync::Mutex<Child>,
    next: AtomicU64,
    waiting: Arc<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting(Mutex<HashMap<u64, oneshot::Sender<Outcome>>>);

impl Waiting {
    fn insert(&self, id: u64, sender: oneshot::Sender<Outcome>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
    }

    fn take(&self, id: u64) -> Option<oneshot::Sender<Outcome>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Supervisor {
    /// Starts a supervisor for the lab in `dir`. The directory is removed when the supervisor ends, unless [`KEEP`]
    /// is in it.
    pub async fn start(dir: &Path) -> Result<Self> {
        let path = program().await?;
        let logs = dir.join("logs");
        std::fs::create_dir_all(&logs).with_context(|| format!("creating {}", logs.display()))?;
        let log = std::fs::File::create(logs.join("supervisor.log"))?;
        let mut command = std::process::Command::new(&path);
        command.arg("serve").arg("--dir").arg(dir).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // Go programs of OCM leave directories in TMPDIR: they shall lie in the lab.
        let tmp = dir.join("tmp");
        std::fs::create_dir_all(&tmp)?;
        command.env("TMPDIR", &tmp).current_dir(dir);
        let mut child = tokio::process::Command::from(command)
            .spawn()
            .with_context(|| format!("starting the supervisor {}", path.display()))?;
        let group = child.id().context("a new process has a pid")?;
        let stdin = child.stdin.take().context("piped")?;
        let stdout = child.stdout.take().context("piped")?;
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(read_replies(stdout, waiting.clone()));
        let inner = Inner {
            dir: dir.to_owned(),
            group,
            stdin: tokio::sync::Mutex::new(Some(stdin)),
            child: tokio::sync::Mutex::new(child),
            next: AtomicU64::new(1),
            waiting,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Process group (and pid) of the supervisor.
    pub fn group(&self) -> u32 {
        self.inner.group
    }

    /// Starts a program.
    pub async fn spawn(&self, program: Program) -> Result<Proc> {
        let log = self.inner.dir.join("logs").join(format!("{}.log", program.name));
        let spawn = Spawn {
            name: program.name.clone(),
            argv: program.argv.clone(),
            env: program.env.clone(),
            cwd: self.inner.dir.clone(),
            log: log.clone(),
            rank: program.rank,
        };
        let pid = self.start_process(spawn.clone()).await?;
        let inner = ProcInner { supervisor: self.clone(), spawn, log, pid: Mutex::new(pid) };
        Ok(Proc { inner: Arc::new(inner) })
    }

    async fn start_process(&self, spawn: Spawn) -> Result<u32> {
        match self.ask(Order::Spawn(spawn)).await? {
            Outcome::Pid(pid) => Ok(pid),
            other => bail!("the supervisor answered {other:?} to a spawn"),
        }
    }

    async fn ask(&self, order: Order) -> Result<Outcome> {
        let id = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.inner.waiting.insert(id, sender);
        let mut line = serde_json::to_vec(&Request { id, order })?;
        line.push(b'\n');
        {
            let mut stdin = self.inner.stdin.lock().await;
            let stdin = stdin.as_mut().context("the supervisor was stopped")?;
            stdin.write_all(&line).await.context("the supervisor is gone")?;
        }
        match receiver.await.context("the supervisor is gone")? {
            Outcome::Error(error) => bail!(error),
            outcome => Ok(outcome),
        }
    }

    /// Ends everything and waits until it has ended.
    pub async fn stop(&self) -> Result<()> {
        self.inner.stdin.lock().await.take();
        self.inner.child.lock().await.wait().await.context("waiting for the supervisor")?;
        Ok(())
    }
}

async fn read_replies(stdout: ChildStdout, waiting: Arc<Waiting>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(reply) = serde_json::from_str::<Reply>(&line)
            && let Some(sender) = waiting.take(reply.id)
        {
            let _ = sender.send(reply.outcome);
        }
    }
    waiting.clear();
}

/// A process under the supervisor; clones mean the same one. Dropping it does not end it.
#[derive(Clone, Debug)]
pub struct Proc {
    inner: Arc<ProcInner>,
}

#[derive(Debug)]
struct ProcInner {
    supervisor: Supervisor,
    spawn: Spawn,
    log: PathBuf,
    pid: Mutex<u32>,
}

impl Proc {
    /// Name given at the start.
    pub fn name(&self) -> &str {
        &self.inner.spawn.name
    }

    /// Current process id; changes with [`Proc::start_again`].
    pub fn pid(&self) -> u32 {
        *self.inner.pid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.inner.log
    }

    /// The last lines of its output.
    pub fn log_end(&self, lines: usize) -> String {
        let text = std::fs::read_to_string(&self.inner.log).unwrap_or_default();
        super::tools::last_lines(&text, lines)
    }

    /// Sends a signal; false if the process had ended already.
    pub async fn signal(&self, signal: Kind) -> Result<bool> {
        match self.inner.supervisor.ask(Order::Signal { pid: self.pid(), signal }).await? {
            Outcome::Done(sent) => Ok(sent),
            other => bail!("the supervisor answered {other:?} to a signal"),
        }
    }

    /// Waits for its end.
    pub async fn wait(&self) -> Result<Exit> {
        match self.inner.supervisor.ask(Order::Wait { pid: self.pid() }).await? {
            Outcome::Exit(exit) => Ok(exit),
            other => bail!("the supervisor answered {other:?} to a wait"),
        }
    }

    /// `kill -9`, and waits for the end.
    pub async fn kill(&self) -> Result<Exit> {
        self.signal(Kind::Kill).await?;
        self.wait().await
    }

    /// Asks to end and waits for it; kills after five seconds.
    pub async fn terminate(&self) -> Result<Exit> {
        self.signal(Kind::Term).await?;
        match tokio::time::timeout(std::time::Duration::from_secs(5), self.wait()).await {
            Ok(exit) => exit,
            Err(_) => self.kill().await,
        }
    }

    /// Starts the same command again, after its end.
    pub async fn start_again(&self) -> Result<()> {
        let pid = self.inner.supervisor.start_process(self.inner.spawn.clone()).await?;
        *self.inner.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
        Ok(())
    }

    /// Polls `ready` every 50 ms until it gives true; an early end of the process or `limit` is an error that shows
    /// the end of the log.
    pub async fn until_ready<F, Fut>(&self, what: &str, limit: std::time::Duration, ready: F) -> Result<()>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = bool>,
    {
        let polling = async {
            while !ready().await {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = polling => Ok(()),
            exit = self.wait() => {
                bail!("{} ended with {} before {what}; log {}:\n{}", self.name(), exit?, self.log().display(), self.log_end(15))
            }
            () = tokio::time::sleep(limit) => {
                bail!("{}: {what} not within {limit:?}; log {}:\n{}", self.name(), self.log().display(), self.log_end(15))
            }
        }
    }
}

/// The supervisor's program: cargo names it in tests; a sibling of the running program otherwise; built if missing.
async fn program() -> Result<PathBuf> {
    const NAME: &str = "lab-supervisor";
    if let Some(path) =
        std::env::var_os("CARGO_BIN_EXE_lab-supervisor").map(PathBuf::from).filter(|path| path.is_file())
    {
        return Ok(path);
    }
    let running = std::env::current_exe().context("own path")?;
    let near = running.ancestors().skip(1).take(2).map(|dir| dir.join(NAME)).find(|path| path.is_file());
    match near {
        Some(path) => Ok(path),
        None => super::product::build(&["-p", "tests", "--bin", NAME], NAME).await,
    }
}
