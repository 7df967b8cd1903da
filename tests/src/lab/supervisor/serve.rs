//! The supervisor process itself. Everything that a lab starts is its child, in its process group. When its standard
//! input closes, however that came about (end, panic, `kill -9` of the test), it ends all of them and then its group.
//!
//! Children are started through this program in the mode `exec`, which asks the kernel to kill the child together with
//! its parent before it turns into the wanted program: so even `kill -9` of the supervisor leaves nothing behind.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::protocol::{Exit, Kind, Order, Outcome, Rank, Reply, Request, Spawn};

/// Name of the file in the lab's directory whose presence keeps the directory.
pub const KEEP: &str = "KEEP";

/// Turns into `argv`, after the kernel has promised to kill us when the supervisor dies. Returns only on error.
pub fn exec(supervisor: u32, argv: &[String]) -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("asking for the death signal")?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(supervisor) {
        bail!("the supervisor ended before this process could start");
    }
    let (program, arguments) = argv.split_first().context("no program given")?;
    let error = std::process::Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("starting {program}"))
}

/// Serves orders until standard input closes or a signal asks to end. `dir` is the lab's directory: it is removed at
/// the end, unless it holds a file [`KEEP`].
pub async fn serve(dir: Option<PathBuf>) -> Result<()> {
    // Orphans of our children become our children, so that none escapes.
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))
        .context("becoming the reaper of orphans")?;
    let mut supervisor = Serving::new()?;
    let mut lines = orders();
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => supervisor.order(&line),
                None => break,
            },
            Some((pid, exit)) = supervisor.ended.1.recv() => supervisor.note(pid, exit),
            _ = term.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => break,
        }
    }
    supervisor.end().await;
    if let Some(dir) = dir.filter(|dir| !dir.join(KEEP).exists()) {
        let _ = std::fs::remove_dir_all(dir);
    }
    // The very last: whatever may still be in the group, this process included.
    let _ = rustix::process::kill_process_group(rustix::process::getpgrp(), Signal::KILL);
    Ok(())
}

/// Lines of standard input, read by a thread of their own; the channel closes with it.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

struct Child {
    name: String,
    rank: Rank,
    exit: Option<Exit>,
    waiting: Vec<u64>,
}

/// Both ends of the channel on which the ends of children arrive.
type Ended = (mpsc::UnboundedSender<(u32, Exit)>, mpsc::UnboundedReceiver<(u32, Exit)>);

struct Serving {
    myself: PathBuf,
    children: BTreeMap<u32, Child>,
    ended: Ended,
}

impl Serving {
    fn new() -> Result<Self> {
        Ok(Self {
            myself: std::env::current_exe().context("own path")?,
            children: BTreeMap::new(),
            ended: mpsc::unbounded_channel(),
        })
    }

    fn order(&mut self, line: &str) {
        let request: Request = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => {
                eprintln!("not an order: {error}: {line}");
                return;
            }
        };
        let outcome = match request.order {
            Order::Spawn(spawn) => {
                self.spawn(spawn).map_or_else(|e| Outcome::Error(format!("{e:#}")), Outcome::Pid)
            }
            Order::Signal { pid, signal } => match self.children.get(&pid) {
                Some(child) if child.exit.is_none() => Outcome::Done(send(pid, signal)),
                Some(_) => Outcome::Done(false),
                None => Outcome::Error(format!("no process {pid} was started here")),
            },
            Order::Wait { pid } => match self.children.get_mut(&pid) {
                Some(Child { exit: Some(exit), .. }) => Outcome::Exit(*exit),
                Some(child) => {
                    child.waiting.push(request.id);
                    return;
                }
                None => Outcome::Error(format!("no process {pid} was started here")),
            },
        };
        Self::reply(request.id, outcome);
    }

    fn spawn(&mut self, spawn: Spawn) -> Result<u32> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&spawn.log)
            .with_context(|| format!("opening {}", spawn.log.display()))?;
        let mut child = tokio::process::Command::new(&self.myself)
            .args(["exec", "--supervisor", &std::process::id().to_string(), "--"])
            .args(&spawn.argv)
            .envs(&spawn.env)
            .current_dir(&spawn.cwd)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", spawn.name))?;
        let pid = child.id().context("a new process has a pid")?;
        let ended = self.ended.0.clone();
        tokio::spawn(async move {
            let exit = child.wait().await.map_or(Exit { code: None, signal: None }, exit);
            let _ = ended.send((pid, exit));
        });
        let fresh = Child { name: spawn.name, rank: spawn.rank, exit: None, waiting: Vec::new() };
        self.children.insert(pid, fresh);
        Ok(pid)
    }

    fn note(&mut self, pid: u32, exit: Exit) {
        let waiting = match self.children.get_mut(&pid) {
            Some(child) => {
                child.exit = Some(exit);
                eprintln!("{} ({pid}) ended: {exit}", child.name);
                std::mem::take(&mut child.waiting)
            }
            None => Vec::new(),
        };
        for id in waiting {
            Self::reply(id, Outcome::Exit(exit));
        }
    }

    fn reply(id: u64, outcome: Outcome) {
        if let Ok(mut line) = serde_json::to_vec(&Reply { id, outcome }) {
            line.push(b'\n');
            // A lab that does not read any more has ended; the end of standard input follows.
            let mut out = std::io::stdout();
            let _ = out.write_all(&line).and_then(|()| out.flush());
        }
    }

    /// Ends all children: rank by rank TERM, a grace, KILL; then whatever they may have started.
    async fn end(&mut self) {
        for rank in Rank::ENDING {
            self.signal(rank, Kind::Cont);
            self.signal(rank, Kind::Term);
            let deadline = tokio::time::Instant::now() + grace(rank);
            while !self.running(rank).is_empty() {
                match tokio::time::timeout_at(deadline, self.ended.1.recv()).await {
                    Ok(Some((pid, exit))) => self.note(pid, exit),
                    Ok(None) | Err(_) => break,
                }
            }
            self.signal(rank, Kind::Kill);
        }
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            let rest = relatives();
            if rest.is_empty() {
                break;
            }
            for pid in rest {
                send(pid, Kind::Kill);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn running(&self, rank: Rank) -> Vec<u32> {
        let of_rank = self.children.iter().filter(|(_, child)| child.rank == rank && child.exit.is_none());
        of_rank.map(|(pid, _)| *pid).collect()
    }

    fn signal(&self, rank: Rank, signal: Kind) {
        for pid in self.running(rank) {
            send(pid, signal);
        }
    }
}

/// How long a rank may take to end after TERM. The stores of a lab are thrown away: no need to wait for them.
fn grace(rank: Rank) -> Duration {
    match rank {
        Rank::Product => Duration::from_secs(5),
        Rank::Agent | Rank::Controller => Duration::from_secs(2),
        Rank::ApiServer | Rank::Store => Duration::from_millis(300),
    }
}

fn exit(status: ExitStatus) -> Exit {
    Exit { code: status.code(), signal: status.signal() }
}

fn send(pid: u32, signal: Kind) -> bool {
    let signal = match signal {
        Kind::Term => Signal::TERM,
        Kind::Kill => Signal::KILL,
        Kind::Stop => Signal::STOP,
        Kind::Cont => Signal::CONT,
    };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

/// Every other process that is in our group or that has us as its parent.
fn relatives() -> Vec<u32> {
    let me = std::process::id();
    processes(|process| process.pid != me && (process.group == me || process.parent == me))
}

/// Processes of a group, from `/proc`; zombies are not counted.
pub fn group_members(group: u32) -> Vec<u32> {
    processes(|process| process.group == group)
}

struct Process {
    pid: u32,
    parent: u32,
    group: u32,
}

fn processes(wanted: impl Fn(&Process) -> bool) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let all = entries.filter_map(|entry| process(&entry.ok()?.path()));
    all.filter(|process| wanted(process)).map(|process| process.pid).collect()
}

/// `/proc/<pid>/stat`: `pid (name) state parent group ...`; the name may contain anything, so read from its end.
fn process(dir: &Path) -> Option<Process> {
    let pid = dir.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(dir.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    (state != "Z").then_some(Process { pid, parent, group })
}
