//! The lines of JSON between a lab and its supervisor.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One line to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Repeated in the reply.
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub order: Order,
}

/// What the supervisor can do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Order {
    /// Start a process; answered with its pid.
    Spawn(Spawn),
    /// Send a signal to a process that the supervisor started.
    Signal {
        /// Of an earlier spawn.
        pid: u32,
        /// Which one.
        signal: Kind,
    },
    /// Answered when the process has ended.
    Wait {
        /// Of an earlier spawn.
        pid: u32,
    },
}

/// A process to start. It gets its own log file and no standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spawn {
    /// For messages.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Added to the environment of the supervisor.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Standard output and error are appended here.
    pub log: PathBuf,
    /// Place in the order of the end: highest rank first.
    pub rank: Rank,
}

/// Signals that the lab uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Ask to end.
    Term,
    /// End at once: the process sees nothing of it.
    Kill,
    /// Freeze: a process that hangs, a network that is gone.
    Stop,
    /// Go on after a freeze.
    Cont,
}

/// Order in which processes end, the last one first: who needs another one ends before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// etcd and other stores.
    Store,
    /// API servers.
    ApiServer,
    /// Controllers of Kubernetes and of OCM on the hub.
    Controller,
    /// Agents of OCM and of governance on the spokes.
    Agent,
    /// What is under test.
    Product,
}

impl Rank {
    /// All, in the order in which they end.
    pub const ENDING: [Self; 5] =
        [Self::Product, Self::Agent, Self::Controller, Self::ApiServer, Self::Store];
}

/// One line from the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Of the request.
    pub id: u64,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Answer to an [`Order`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Started.
    Pid(u32),
    /// Signal sent, or the process had ended already.
    Done(bool),
    /// Ended.
    Exit(Exit),
    /// Not possible.
    Error(String),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, if it ended by itself.
    pub code: Option<i32>,
    /// Signal number, if a signal ended it.
    pub signal: Option<i32>,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("unknown end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_way() {
        let line =
            serde_json::to_string(&Request { id: 7, order: Order::Signal { pid: 3, signal: Kind::Term } })
                .unwrap();
        assert_eq!(line, r#"{"id":7,"op":"signal","pid":3,"signal":"term"}"#);
        let reply: Reply = serde_json::from_str(r#"{"id":7,"exit":{"code":null,"signal":9}}"#).unwrap();
        assert!(matches!(reply.outcome, Outcome::Exit(Exit { code: None, signal: Some(9) })));
    }
}
