//! Hosts to node groups of one request, so that all groups get what they need if that is possible at all (B3).

use std::collections::{BTreeMap, VecDeque};

/// Index of a host in the caller's list.
pub(super) type Host = usize;

/// An assignment of hosts to groups. Once assigned, a host stays in use; it may move to another group that it fits.
#[derive(Debug, Default)]
pub(super) struct Matching {
    owner: BTreeMap<Host, usize>,
}

impl Matching {
    /// Group of a host.
    pub(super) fn group_of(&self, host: Host) -> Option<usize> {
        self.owner.get(&host).copied()
    }

    /// Number of hosts of a group.
    pub(super) fn count(&self, group: usize) -> usize {
        self.owner.values().filter(|g| **g == group).count()
    }

    /// Host and group pairs, by host.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Host, usize)> + '_ {
        self.owner.iter().map(|(h, g)| (*h, *g))
    }

    /// Gives each group up to `need` hosts of those that fit it, in the order of `fit`; moves hosts between groups where
    /// that makes room. `usable` says which hosts are free for this request.
    pub(super) fn fill(&mut self, needs: &[usize], fit: &[&[Host]], usable: impl Fn(Host) -> bool) {
        for (group, need) in needs.iter().enumerate() {
            for _ in self.count(group)..*need {
                if !self.augment(group, fit, &usable) {
                    break;
                }
            }
        }
    }

    /// One more host for `group`, by the shortest chain of moves; breadth first over groups.
    fn augment(&mut self, group: usize, fit: &[&[Host]], usable: &impl Fn(Host) -> bool) -> bool {
        // How a group was reached: from which group, by taking which host away from it.
        let mut reached: BTreeMap<usize, Option<(usize, Host)>> = BTreeMap::from([(group, None)]);
        let mut queue = VecDeque::from([group]);
        while let Some(at) = queue.pop_front() {
            let hosts = fit.get(at).copied().unwrap_or_default();
            for &host in hosts.iter().filter(|h| usable(**h)) {
                match self.owner.get(&host) {
                    None => {
                        self.take(at, host, &reached);
                        return true;
                    }
                    Some(&other) if !reached.contains_key(&other) => {
                        reached.insert(other, Some((at, host)));
                        queue.push_back(other);
                    }
                    Some(_) => {}
                }
            }
        }
        false
    }

    fn take(&mut self, mut group: usize, mut host: Host, reached: &BTreeMap<usize, Option<(usize, Host)>>) {
        loop {
            self.owner.insert(host, group);
            match reached.get(&group) {
                Some(Some((from, moved))) => (group, host) = (*from, *moved),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(needs: &[usize], fit: &[&[Host]]) -> Vec<usize> {
        let mut m = Matching::default();
        m.fill(needs, fit, |_| true);
        (0..needs.len()).map(|g| m.count(g)).collect()
    }

    #[test]
    fn s04_024_one_host_for_two_groups_is_not_enough() {
        assert_eq!(run(&[1, 1], &[&[7], &[7]]), [1, 0]);
    }

    #[test]
    fn moves_a_host_when_another_group_needs_it() {
        assert_eq!(run(&[1, 1], &[&[0, 1], &[0]]), [1, 1]);
        assert_eq!(run(&[1, 1, 1], &[&[0, 1], &[0, 2], &[0]]), [1, 1, 1]);
        assert_eq!(run(&[2, 1], &[&[0, 1, 2], &[0]]), [2, 1]);
    }

    #[test]
    fn takes_the_first_in_order() {
        let mut m = Matching::default();
        m.fill(&[2], &[&[3, 1, 2]], |h| h != 1);
        assert_eq!(m.pairs().collect::<Vec<_>>(), [(2, 0), (3, 0)]);
    }

    proptest! {
        /// As good as trying everything, and never more than a host once or beyond the need.
        #[test]
        fn fills_all_groups_whenever_that_is_possible(
            needs in proptest::collection::vec(0_usize..3, 1..4),
            edges in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 6), 3),
        ) {
            let fit: Vec<Vec<Host>> = edges
                .iter()
                .take(needs.len())
                .map(|row| row.iter().enumerate().filter(|(_, e)| **e).map(|(h, _)| h).collect())
                .collect();
            let slices: Vec<&[Host]> = fit.iter().map(Vec::as_slice).collect();
            let got = run(&needs[..slices.len()], &slices);
            let total: usize = got.iter().sum();
            prop_assert_eq!(total, best(&needs[..slices.len()], &fit, &mut Vec::new()));
            for (g, n) in got.iter().zip(&needs) {
                prop_assert!(g <= n);
            }
        }
    }

    /// Maximum by brute force: each host goes to one group or to none.
    fn best(needs: &[usize], fit: &[Vec<Host>], chosen: &mut Vec<Option<usize>>) -> usize {
        if chosen.len() == 6 {
            return chosen.iter().flatten().count();
        }
        let host = chosen.len();
        chosen.push(None);
        let mut most = best(needs, fit, chosen);
        chosen.pop();
        for g in 0..needs.len() {
            if fit[g].contains(&host) && chosen.iter().filter(|c| **c == Some(g)).count() < needs[g] {
                chosen.push(Some(g));
                most = most.max(best(needs, fit, chosen));
                chosen.pop();
            }
        }
        most
    }
}
