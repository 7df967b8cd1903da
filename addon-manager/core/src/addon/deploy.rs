//! Packing the agent's manifests into deploy works (spec/07 5.7).
//!
//! Placement is sticky: an object stays in the work that holds it, for moving it would delete and create it on the
//! spoke. New objects go, in their order, into the first work with room, else into a new one with the next index.

use std::sync::Arc;

use manifests::ocm::names::{
    ADDON, ANNOTATION_CLEANUP_PRIORITY, ANNOTATION_CONFIG_HASH, LABEL_ADDON_NAME, deploy_work,
};
use manifests::ocm::{ManagedClusterAddOn, ManifestWork};
use serde_json::Value;

use super::registration::owner;
use crate::plan::{Step, Target};
use crate::work::{Draft, Item, LIMIT, WorkError};

/// Deleted last when the cluster is detached: other works need the roles in it (spec/07 section 7).
const CLEANUP_PRIORITY: &str = "100";

/// Index of a deploy work by its name.
fn index(work: &ManifestWork) -> Option<usize> {
    let prefix = deploy_work(0);
    let prefix = prefix.strip_suffix('0')?;
    work.metadata.name.as_deref()?.strip_prefix(prefix)?.parse().ok()
}

/// The deploy works among the add-on's works, by index.
pub(super) fn deploy_works(works: &[Arc<ManifestWork>]) -> Vec<(usize, &ManifestWork)> {
    let mut out: Vec<_> = works.iter().filter_map(|w| Some((index(w)?, w.as_ref()))).collect();
    out.sort_by_key(|(i, _)| *i);
    out
}

fn holds(work: &ManifestWork, item: &Item) -> bool {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let group = |value: &Value| {
        let version = text(value, "/apiVersion").unwrap_or_default();
        version.rsplit_once('/').map(|(g, _)| g.to_owned()).unwrap_or_default()
    };
    let id =
        |v: &Value| (group(v), text(v, "/kind"), text(v, "/metadata/namespace"), text(v, "/metadata/name"));
    let wanted = id(&item.value);
    work.spec.workload.manifests.iter().any(|m| id(m) == wanted)
}

struct Bin {
    index: usize,
    items: Vec<Item>,
    size: usize,
}

/// Distributes `items` (sorted already) over works.
pub(super) fn pack(
    items: Vec<Item>,
    works: &[(usize, &ManifestWork)],
    limit: usize,
) -> Vec<(usize, Vec<Item>)> {
    let mut bins: Vec<Bin> = works
        .iter()
        .filter(|(_, w)| w.metadata.deletion_timestamp.is_none())
        .map(|(index, _)| Bin { index: *index, items: Vec::new(), size: 0 })
        .collect();
    // A work that is being deleted keeps its name until it is gone.
    let mut next = works.iter().map(|(i, _)| i + 1).max().unwrap_or_default();
    let mut homeless = Vec::new();
    for (order, item) in items.into_iter().enumerate() {
        let home = works.iter().find(|(_, w)| w.metadata.deletion_timestamp.is_none() && holds(w, &item));
        let size = item.size();
        let bin = home.and_then(|(i, _)| bins.iter_mut().find(|b| b.index == *i));
        match bin.filter(|b| b.size + size <= limit) {
            Some(bin) => {
                bin.size += size;
                bin.items.push(item);
            }
            None => homeless.push((order, item)),
        }
    }
    for (_, item) in homeless {
        let size = item.size();
        if let Some(bin) = bins.iter_mut().find(|b| b.size + size <= limit) {
            bin.size += size;
            bin.items.push(item);
        } else {
            bins.push(Bin { index: next, items: vec![item], size });
            next += 1;
        }
    }
    bins.into_iter().filter(|b| !b.items.is_empty()).map(|b| (b.index, b.items)).collect()
}

/// Kinds in the order in which a cluster must get them.
fn rank(item: &Item) -> usize {
    const ORDER: &[&str] = &[
        "namespaces",
        "customresourcedefinitions",
        "serviceaccounts",
        "clusterroles",
        "clusterrolebindings",
        "roles",
        "rolebindings",
        "secrets",
        "configmaps",
        "services",
    ];
    ORDER.iter().position(|r| *r == item.id.resource).unwrap_or(ORDER.len())
}

fn sort(items: &mut [Item]) {
    items.sort_by(|a, b| {
        (rank(a), &a.id.resource, &a.id.namespace, &a.id.name).cmp(&(
            rank(b),
            &b.id.resource,
            &b.id.namespace,
            &b.id.name,
        ))
    });
}

/// The writes that bring the deploy works of a cluster to hold `items`.
///
/// # Errors
/// When one object alone is too large for a work.
pub(super) fn steps(
    addon: &ManagedClusterAddOn,
    cluster: &str,
    annotation: Option<&str>,
    mut items: Vec<Item>,
    works: &[Arc<ManifestWork>],
) -> Result<Vec<Step>, WorkError> {
    sort(&mut items);
    let stored = deploy_works(works);
    let mut steps = Vec::new();
    let mut kept = Vec::new();
    for (index, mut items) in pack(items, &stored, LIMIT) {
        sort(&mut items);
        let mut draft = Draft::new(cluster, &deploy_work(index))
            .label(LABEL_ADDON_NAME, ADDON)
            .annotation(ANNOTATION_CLEANUP_PRIORITY, CLEANUP_PRIORITY)
            .owner(owner(addon));
        if let Some(text) = annotation {
            draft = draft.annotation(ANNOTATION_CONFIG_HASH, text);
        }
        draft = items.into_iter().fold(draft, Draft::item);
        let old = stored.iter().find(|(i, _)| *i == index).map(|(_, w)| *w);
        steps.extend(draft.step(old)?);
        kept.push(index);
    }
    for (index, work) in &stored {
        if !kept.contains(index) && work.metadata.deletion_timestamp.is_none() {
            steps.push(Step::Delete {
                target: Target::of::<ManifestWork>(Some(cluster), &deploy_work(*index)),
                uid: work.metadata.uid.clone(),
                foreground: false,
            });
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifests::ocm::ManifestWorkSpec;
    use manifests::ocm::work::Workload;
    use serde_json::json;

    fn item(name: &str, bytes: usize) -> Item {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "ns"}, "data": {"x": "x".repeat(bytes)},
        });
        Item::raw("", "configmaps", value).unwrap()
    }

    fn stored(index: usize, items: &[Item]) -> ManifestWork {
        let mut work = ManifestWork::new(
            &deploy_work(index),
            ManifestWorkSpec {
                workload: Workload { manifests: items.iter().map(|i| i.value.clone()).collect() },
                ..ManifestWorkSpec::default()
            },
        );
        work.trim();
        work
    }

    fn names(packed: &[(usize, Vec<Item>)]) -> Vec<(usize, Vec<&str>)> {
        packed.iter().map(|(i, items)| (*i, items.iter().map(|i| i.id.name.as_str()).collect())).collect()
    }

    /// T7: more than one work holds is split, in order.
    #[test]
    fn s07_t7_more_than_400_kb_is_split() {
        let items: Vec<_> = (0..5).map(|i| item(&format!("c{i}"), 150_000)).collect();
        let packed = pack(items, &[], LIMIT);
        assert_eq!(names(&packed), [(0, vec!["c0", "c1"]), (1, vec!["c2", "c3"]), (2, vec!["c4"])]);
        for (_, items) in &packed {
            assert!(items.iter().map(Item::size).sum::<usize>() <= LIMIT);
        }
    }

    #[test]
    fn s07_t7_objects_stay_where_they_are() {
        let (a, b, c) = (item("a", 100), item("b", 100), item("c", 100));
        let one = stored(1, std::slice::from_ref(&b));
        let two = stored(4, std::slice::from_ref(&c));
        let packed = pack(vec![a, b, c], &[(1, &one), (4, &two)], LIMIT);
        assert_eq!(names(&packed), [(1, vec!["b", "a"]), (4, vec!["c"])]);
    }

    #[test]
    fn s07_t7_a_new_work_never_takes_an_index_in_use() {
        let big = item("big", 300_000);
        let leaving = {
            let mut w = stored(3, &[]);
            w.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                "2026-01-01T00:00:00Z".parse().unwrap(),
            ));
            w
        };
        let one = stored(1, std::slice::from_ref(&big));
        let packed = pack(vec![big, item("new", 300_000)], &[(1, &one), (3, &leaving)], LIMIT);
        assert_eq!(names(&packed), [(1, vec!["big"]), (4, vec!["new"])]);
    }

    #[test]
    fn a_grown_object_moves_when_its_work_is_full() {
        let (a, b) = (item("a", 200_000), item("b", 250_000));
        let one = stored(0, &[a.clone(), b.clone()]);
        assert_eq!(names(&pack(vec![a, b], &[(0, &one)], LIMIT)), [(0, vec!["a"]), (1, vec!["b"])]);
    }
}
