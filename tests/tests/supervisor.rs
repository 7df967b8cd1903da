//! Nothing of a lab survives it, however it ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tests::lab::supervisor::group_members;

/// Starts a process that starts a supervisor with two processes; returns it, and the pids in order of appearance.
fn start(dir: &Path) -> Result<(Child, Vec<u32>)> {
    let mut parent = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["supervise", "--dir"])
        .arg(dir)
        // A shell that ignores TERM and has a child of its own in the background.
        .args(["--", "/bin/sh", "-c", "trap '' TERM; sleep 1000 & while true; do sleep 1; done"])
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(parent.stdout.take().context("piped")?).lines();
    let pids = lines.take(3).map(|line| Ok(line?.parse()?)).collect::<Result<Vec<u32>>>()?;
    Ok((parent, pids))
}

fn kill(pid: u32) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(pid)?).context("not a pid")?;
    Ok(kill_process(pid, Signal::KILL)?)
}

fn until_empty(group: u32, limit: Duration) -> Result<Duration> {
    let begin = Instant::now();
    loop {
        let members = group_members(group);
        if members.is_empty() {
            return Ok(begin.elapsed());
        }
        ensure!(begin.elapsed() < limit, "still in the group after {limit:?}: {members:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn kill_of_the_test_ends_the_whole_group() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let lab = dir.path().join("lab");
    std::fs::create_dir(&lab)?;
    let (mut parent, pids) = start(&lab)?;
    let group = *pids.first().context("no group")?;
    ensure!(group_members(group).len() >= 3, "supervisor and two shells: {:?}", group_members(group));
    kill(parent.id())?;
    parent.wait()?;
    let took = until_empty(group, Duration::from_secs(10))?;
    println!("everything ended {took:?} after kill -9 of the parent, though the programs ignore TERM");
    ensure!(!lab.exists(), "the directory is removed");
    Ok(())
}

#[test]
fn the_directory_stays_if_it_is_to_be_kept() -> Result<()> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("KEEP"), "")?;
    let (mut parent, pids) = start(dir.path())?;
    kill(parent.id())?;
    parent.wait()?;
    until_empty(*pids.first().context("no group")?, Duration::from_secs(10))?;
    ensure!(dir.path().join("logs/one.log").exists(), "the logs are there");
    Ok(())
}

#[test]
fn kill_of_the_supervisor_ends_its_children() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (mut parent, pids) = start(dir.path())?;
    let [group, one, two] = pids.as_slice() else { anyhow::bail!("three pids: {pids:?}") };
    kill(*group)?;
    let begin = Instant::now();
    while group_members(*group).iter().any(|pid| pid == one || pid == two) {
        ensure!(begin.elapsed() < Duration::from_secs(5), "the children live on");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What the programs themselves had started is not the supervisor's child: a real program ends it. Not our shell.
    for pid in group_members(*group) {
        kill(pid)?;
    }
    parent.kill()?;
    parent.wait()?;
    Ok(())
}
