//! Bounds of a SpokeReport. They stand in the CRD and the agent cuts to them, measuring texts as they are encoded
//! (a quotation mark counts two), so that a report can never exceed [`REPORT_BYTES`].

/// Upper bound of an encoded status.
pub const REPORT_BYTES: usize = 32 * 1024;

/// Names of objects.
pub const NAME: usize = 63;
/// Versions and short words.
pub const WORD: usize = 32;
/// Reasons of conditions.
pub const REASON: usize = 48;
/// URLs and images.
pub const URL: usize = 200;
/// Message of a condition of the ClusterVersion or of the ImageBasedUpgrade.
pub const MESSAGE: usize = 256;
/// Message about an operator, a pool or a node.
pub const NOTE: usize = 120;
/// Message of a condition of the report itself.
pub const SUMMARY: usize = 480;

/// Conditions of the ClusterVersion.
pub const CONDITIONS: usize = 7;
/// Newest entries of the update history.
pub const HISTORY: usize = 4;
/// Recommended updates.
pub const UPDATES: usize = 24;
/// Conditional updates.
pub const CONDITIONAL: usize = 5;
/// Risks of a conditional update.
pub const RISKS: usize = 3;
/// Operators that are not fine.
pub const OPERATORS: usize = 8;
/// MachineConfigPools.
pub const POOLS: usize = 6;
/// Names of ready nodes.
pub const READY_NODES: usize = 64;
/// Nodes that are not ready.
pub const NOT_READY_NODES: usize = 8;
/// Names of cordoned nodes.
pub const CORDONED_NODES: usize = 8;
/// Different kubelet versions.
pub const KUBELETS: usize = 4;
/// Blockers, and as many warnings.
pub const FINDINGS: usize = 8;
/// Results of operations.
pub const OPERATIONS: usize = 6;
/// Conditions of the report itself.
pub const REPORT_CONDITIONS: usize = 3;
/// Operators that the update waits for.
pub const WAITING_ON: usize = 6;
