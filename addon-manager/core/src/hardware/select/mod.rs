//! Which hosts a node group may have, and for every other host why not (spec/04 section 5).
//!
//! Selection is a pure function of the hosts: their order does not matter, the result is ordered by namespace and name.

mod criteria;
mod grammar;
mod reject;
#[cfg(test)]
mod tests;

pub use criteria::{Criteria, SelectError};
pub use grammar::{Criterion, GrammarError};
pub use reject::{Rejection, is_managed};

use super::{HostKey, HostView, Pools};

/// The hosts that a node group may have, and why each other host is not among them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// Free hosts that meet all criteria, in the order in which they are taken.
    pub fit: Vec<HostKey>,
    /// All others.
    pub rejected: Vec<(HostKey, Rejection)>,
}

/// Sorts hosts into those that fit and those that do not.
pub fn select(criteria: &Criteria, hosts: &[HostView], pools: &Pools) -> Selection {
    let mut selection = Selection::default();
    for view in hosts {
        match why_not(criteria, view, pools) {
            Ok(()) => selection.fit.push(view.key()),
            Err(reason) => selection.rejected.push((view.key(), reason)),
        }
    }
    selection.fit.sort();
    selection.rejected.sort_by(|a, b| a.0.cmp(&b.0));
    selection
}

/// Labels come first, so that a host of another pool is not reported as "inspecting".
///
/// # Errors
/// Why the host cannot be chosen.
pub fn why_not(criteria: &Criteria, view: &HostView, pools: &Pools) -> Result<(), Rejection> {
    criteria.matches_labels(&view.host, pools)?;
    Rejection::check(view)?;
    criteria.matches_hardware(view)
}
