//! Hardware: the planner of claims, NodeAllocationRequests, AllocatedNodes.

mod act;
mod observe;

pub(crate) use act::{Allocations, Nodes, Planner};
pub(crate) use observe::Memory;
