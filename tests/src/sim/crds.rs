//! CRDs that the simulators need: generated ones where the product reads or writes the kind, else stubs that keep
//! everything (`x-kubernetes-preserve-unknown-fields`) and have the status as a subresource.

use std::time::Duration;

use anyhow::{Context, bail};
use kube::Client;
use serde_json::{Value, json};

use super::kinds::{self, CRD, Kind};
use super::store::Store;
use super::value::{condition, name, text};

fn stub(kind: Kind, scope: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": CRD.api_version(), "kind": CRD.kind,
        "metadata": {"name": format!("{}.{}", kind.plural, kind.group)},
        "spec": {
            "group": kind.group, "scope": scope,
            "names": {
                "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": kind.plural,
                "singular": kind.kind.to_lowercase(),
            },
            "versions": [{
                "name": kind.version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

/// For a hub: metal3, ClusterInstance, hive, assisted and image-based installer, klusterlet configuration, policies.
///
/// # Errors
/// When a generated CRD cannot be turned into JSON.
pub fn hub() -> anyhow::Result<Vec<Value>> {
    let generated = manifests::crds::lab().into_iter().chain(manifests::metal3::crds());
    let mut crds: Vec<Value> = generated.map(serde_json::to_value).collect::<Result<_, _>>()?;
    let stubs = [
        stub(kinds::IMAGE_SET, "Cluster"),
        stub(kinds::CLUSTER_DEPLOYMENT, "Namespaced"),
        stub(kinds::AGENT_CLUSTER_INSTALL, "Namespaced"),
        stub(kinds::IMAGE_CLUSTER_INSTALL, "Namespaced"),
        stub(kinds::AGENT, "Namespaced"),
        stub(kinds::INFRA_ENV, "Namespaced"),
        stub(kinds::NMSTATE, "Namespaced"),
        stub(kinds::KLUSTERLET_CONFIG, "Namespaced"),
        stub(kinds::POLICY, "Namespaced"),
        stub(kinds::PLACEMENT_BINDING, "Namespaced"),
    ];
    for stub in stubs {
        if !crds.iter().any(|c| name(c) == name(&stub)) {
            crds.push(stub);
        }
    }
    Ok(crds)
}

/// For a spoke: `ClusterVersion`, `ClusterOperator`, `MachineConfigPool`.
pub fn spoke() -> Vec<Value> {
    [kinds::CLUSTER_VERSION, kinds::CLUSTER_OPERATOR, kinds::MACHINE_CONFIG_POOL]
        .map(|kind| stub(kind, "Cluster"))
        .to_vec()
}

/// Installs the CRDs that are not there yet, whoever made those that are, and waits until they are served.
///
/// # Errors
/// When the API server refuses one, or one is not served after 30 seconds.
pub async fn ensure(client: &Client, crds: &[Value]) -> anyhow::Result<()> {
    let store = Store::new(client.clone(), "ocloud-lab");
    for crd in crds {
        store.create(CRD, crd).await.with_context(|| format!("CRD {}", name(crd)))?;
    }
    for crd in crds {
        let served = async {
            loop {
                let now = store.get(CRD, "", name(crd)).await?.unwrap_or_default();
                let established = condition(&now, "/status/conditions", "Established");
                if established.is_some_and(|c| text(c, "/status") == "True") {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(30), served).await {
            Ok(result) => result?,
            Err(_) => bail!("CRD {} is not served after 30 s", name(crd)),
        }
    }
    Ok(())
}
