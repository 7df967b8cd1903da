//! What outlives a lab: the cache directory with built tools, the locks that keep two labs apart, and free ports.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use rand::Rng;

use super::progress;

/// Ports of the lab: below the range that the kernel gives to outgoing connections, so that no client connection can
/// take a port between its choice and its use.
const PORTS: std::ops::Range<u16> = 12_000..31_000;

/// The directory of everything that the lab keeps between runs: `$OCLOUD_LAB_CACHE`, else `~/.cache/ocloud-lab`.
pub fn dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("OCLOUD_LAB_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(PathBuf::from(dir));
    }
    let home = std::env::var_os("HOME")
        .context("neither OCLOUD_LAB_CACHE nor HOME is set: no place for the lab's tools")?;
    Ok(PathBuf::from(home).join(".cache").join("ocloud-lab"))
}

/// An exclusive lock between processes, released on drop or when the process ends in any way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock `name` in the cache directory; says so once if somebody else has it.
    pub fn wait(name: &str) -> Result<Self> {
        let path = dir()?.join(name);
        let file = open(&path)?;
        if file.try_lock().is_err() {
            progress::line(&format!("lab: another process holds {}, waiting for it", path.display()));
            file.lock().with_context(|| format!("locking {}", path.display()))?;
        }
        Ok(Self { _file: file })
    }
}

fn open(path: &std::path::Path) -> Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("opening {}", path.display()))
}

static TAKEN: Mutex<(BTreeSet<u16>, Vec<File>)> = Mutex::new((BTreeSet::new(), Vec::new()));

/// A port on 127.0.0.1 that nobody listens on and that no other lab of this user will choose while this process lives.
pub fn free_port() -> Result<u16> {
    let locks = dir()?.join("ports");
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut random = rand::rng();
    for _ in 0..500 {
        let port = random.random_range(PORTS);
        if taken.0.contains(&port) {
            continue;
        }
        let file = open(&locks.join(port.to_string()))?;
        if file.try_lock().is_err()
            || TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).is_err()
        {
            continue;
        }
        taken.0.insert(port);
        taken.1.push(file);
        return Ok(port);
    }
    bail!("no free port on 127.0.0.1 between {} and {} in 500 attempts", PORTS.start, PORTS.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_every_port_once() {
        let ports: BTreeSet<u16> = (0..50).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| PORTS.contains(port)));
    }
}
