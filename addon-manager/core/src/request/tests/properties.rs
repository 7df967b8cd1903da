//! Properties that hold for any input.

use std::collections::BTreeSet;

use manifests::clcm::ProvisioningStatus;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::hwmgmt::{Hardware, check_hardware};
use super::super::merge::{NodeGroups, deep_merge, merge_cluster, override_labels};
use super::super::{diff, nodes, phase, render};
use super::*;

/// JSON that likes the keys that matter.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..30).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(json!("192.0.2.1/24")),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let key = prop_oneof![
            "[ab]",
            Just("name".to_owned()),
            Just("nodes".to_owned()),
            Just("nodeGroups".to_owned()),
            Just("nodeNetwork".to_owned()),
            Just("interfaces".to_owned()),
            Just("addresses".to_owned()),
            Just("hostName".to_owned()),
            Just("extraLabels".to_owned()),
            Just("role".to_owned()),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5)
                .prop_map(|m| Value::Object(m.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Objects without lists.
fn any_map() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![Just(Value::Null), (0i64..5).prop_map(Value::from), "[a-c]".prop_map(Value::from)];
    let tree = leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect()))
    });
    prop::collection::btree_map("[a-d]", tree, 0..4).prop_map(|m| m.into_iter().collect())
}

fn cluster_like(value: &Value) -> Value {
    json!({"a": value, "nodeGroups": [{"name": "g", "extraLabels": value, "nodeNetwork": value, "nodes": value}]})
}

/// Every leaf of `source` is where it was in `merged`.
fn covers(merged: &Value, source: &Value) -> bool {
    match (merged, source) {
        (Value::Object(m), Value::Object(s)) => s.iter().all(|(k, v)| m.get(k).is_some_and(|m| covers(m, v))),
        (m, s) => m == s,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn merging_never_panics(a in any_json(), b in any_json()) {
        let _ = merge_cluster(a.clone(), b.clone());
        let _ = merge_cluster(cluster_like(&a), cluster_like(&b));
        let flat = |v: &Value| json!({"nodes": v, "extraLabels": v});
        if let Ok(merged) = merge_cluster(flat(&a), flat(&b)) {
            let _ = render::render(&merged.cluster, "c", &super::super::resources::Owner::default(), false);
        }
        if let (Value::Object(mut x), Value::Object(y)) = (a.clone(), b.clone()) {
            let _ = override_labels(&mut x, &y);
            let _ = check_hardware(&y, &NodeGroups::default(), |_| true);
        }
        let _ = render::check_scaling(&a, &b);
        let mut object = json!({"spec": a});
        render::carry_over(&mut object, &b);
        render::adapt_for_upgrade(&mut object, &b);
    }

    #[test]
    fn the_request_wins_and_nothing_of_it_is_lost(a in any_map(), b in any_map()) {
        let mut merged = a.clone();
        deep_merge(&mut merged, b.clone(), &[], &mut Vec::new()).unwrap();
        prop_assert!(covers(&Value::Object(merged.clone()), &Value::Object(b)));
        prop_assert!(a.keys().all(|k| merged.contains_key(k)));
        let mut again = merged.clone();
        deep_merge(&mut again, merged.clone(), &[], &mut Vec::new()).unwrap();
        prop_assert_eq!(again, merged);
    }

    #[test]
    fn equal_trees_do_not_differ(a in any_json()) {
        prop_assert_eq!(diff::diff(&a, &a), vec![]);
    }

    #[test]
    fn order_of_a_list_is_no_difference(list in prop::collection::vec(any_json(), 0..6), seed in any::<u64>()) {
        let mut shuffled = list.clone();
        if !shuffled.is_empty() {
            let at = usize::try_from(seed % shuffled.len() as u64).unwrap();
            shuffled.rotate_left(at);
            if seed % 2 == 0 {
                shuffled.reverse();
            }
        }
        for key in ["nodeGroups", "nodes", "other"] {
            prop_assert_eq!(diff::diff(&json!({ key: list }), &json!({ key: shuffled })), vec![]);
        }
    }

    #[test]
    fn differing_trees_differ_and_classification_is_total(a in any_json(), b in any_json()) {
        let (x, z) = (json!({"nodeGroups": a}), json!({"nodeGroups": b}));
        let changes = diff::diff(&x, &z);
        let sorted = diff::classify(&changes, &[], diff::ALLOWED_AFTER_INSTALL);
        prop_assert!(sorted.scaling.len() + sorted.immutable.len() <= changes.len());
        prop_assert_eq!(diff::diff(&z, &x).is_empty(), changes.is_empty());
    }

    #[test]
    fn update_time_moves_exactly_with_phase_or_details(
        moves in prop::collection::vec((0usize..5, 0u8..3, 1i64..100), 1..30)
    ) {
        let mut status = ProvisioningStatus::default();
        let mut now = 0;
        for (phase, details, step) in moves {
            now += step;
            let next = phase::Phase {
                phase: manifests::clcm::ProvisioningPhase::ALL[phase],
                details: details.to_string(),
            };
            let before = status.clone();
            let changed = phase::update(&mut status, &next, at(now));
            let differs = before.provisioning_phase != status.provisioning_phase
                || before.provisioning_details != status.provisioning_details;
            prop_assert_eq!(changed, differs);
            let quiet = matches!(
                next.phase,
                manifests::clcm::ProvisioningPhase::Fulfilled | manifests::clcm::ProvisioningPhase::Deleting
            );
            let moves = before.provisioning_phase != status.provisioning_phase || (differs && !quiet);
            prop_assert_eq!(status.update_time != before.update_time, moves);
        }
    }

    #[test]
    fn conditions_never_reorder_and_the_phase_is_total(
        writes in prop::collection::vec((0usize..11, 0usize..3, 0usize..11, "[a-c]{0,3}"), 0..40),
        flags in any::<[bool; 4]>(),
    ) {
        let mut list: Vec<Condition> = Vec::new();
        for (type_, status, reason, message) in writes {
            let order: Vec<String> = list.iter().map(|c| c.type_.clone()).collect();
            let status = ["True", "False", "Unknown"][status];
            let next = Next::new(RequestCondition::ALL[type_], status, RequestReason::ALL[reason], message);
            set(&mut list, next, at(0));
            let after: Vec<String> = list.iter().map(|c| c.type_.clone()).collect();
            prop_assert_eq!(&after[..order.len()], &order[..]);
            let facts = phase::Facts {
                deleting: flags[0],
                pending: flags[1],
                fulfilled_before: flags[2],
                paused: flags[3],
                ..Default::default()
            };
            let p = phase::derive(&list, &facts);
            if p.phase == manifests::clcm::ProvisioningPhase::Fulfilled {
                let bad = list.iter().any(|c| {
                    c.status != "True" && c.type_ != RequestCondition::ConfigurationApplied.as_str()
                });
                prop_assert!(!bad, "{list:?}");
            }
        }
    }

    #[test]
    fn host_map_is_injective(
        names in prop::collection::btree_set("[a-f]", 0..6),
        groups in prop::collection::vec(0u8..2, 6),
        hosts in prop::collection::vec((0u8..5, 0u8..2), 0..6),
        mapped in prop::collection::btree_map("[a-h]", 0u8..5, 0..5),
    ) {
        let group = |g: u8| if g == 0 { "master" } else { "worker" };
        let nodes: Vec<AllocatedNode> = names
            .iter()
            .zip(&groups)
            .map(|(name, g)| allocated(name, group(*g), name.as_bytes()[0]))
            .collect();
        // A node was only ever given to a host of its own group.
        let fits = |name: &str, host: u8| {
            let node = nodes.iter().find(|n| n.metadata.name.as_deref() == Some(name));
            let wanted = hosts.iter().find(|(h, _)| *h == host).map(|(_, g)| group(*g));
            node.is_none_or(|n| wanted.is_none_or(|w| n.spec.group_name == w))
        };
        let mut used = BTreeSet::new();
        let before: BTreeMap<String, String> = mapped
            .into_iter()
            .filter(|(name, host)| fits(name, *host) && used.insert(*host))
            .map(|(name, host)| (name, format!("h{host}")))
            .collect();
        let mut seen = BTreeSet::new();
        let list: Vec<Value> = hosts
            .into_iter()
            .filter(|(host, _)| seen.insert(*host))
            .map(|(host, g)| json!({"hostName": format!("h{host}"), "role": group(g),
                "nodeNetwork": {"interfaces": [{"name": "eno1", "label": "boot-interface"}]}}))
            .collect();
        let input = json!({ "nodes": list });
        let mut spec = input.clone();
        let hardware = Hardware {
            groups: [NodeRole::Master, NodeRole::Worker]
                .map(|role| NodeGroupData { name: role.as_str().to_owned(), role, ..Default::default() })
                .to_vec(),
            ..Hardware::default()
        };
        let applied = nodes::apply(&mut spec, &input, &NodeGroups::default(), &hardware, &nodes, &before);
        let hosts: BTreeSet<&String> = applied.host_map.values().collect();
        prop_assert_eq!(hosts.len(), applied.host_map.len());
        // A second pass takes no existing node away from its host; it may use what this one set free.
        let again = nodes::apply(&mut spec, &input, &NodeGroups::default(), &hardware, &nodes, &applied.host_map);
        let kept = |(node, host): (&String, &String)| !names.contains(node) || again.host_map.get(node) == Some(host);
        prop_assert!(applied.host_map.iter().all(kept));
        let third = nodes::apply(&mut spec, &input, &NodeGroups::default(), &hardware, &nodes, &again.host_map);
        prop_assert_eq!(third.host_map, again.host_map);
    }
}
