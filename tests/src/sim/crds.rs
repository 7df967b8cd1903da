//! Stub CRDs: kinds that others define and that nobody here looks into closely. Everything is kept
//! (`x-kubernetes-preserve-unknown-fields`), the status is a subresource.

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
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

/// For a hub: hive, assisted installer, image-based installer, klusterlet configuration.
pub fn hub() -> Vec<Value> {
    let mut crds = vec![stub(kinds::IMAGE_SET, "Cluster")];
    let namespaced = [
        kinds::CLUSTER_DEPLOYMENT,
        kinds::AGENT_CLUSTER_INSTALL,
        kinds::IMAGE_CLUSTER_INSTALL,
        kinds::AGENT,
        kinds::INFRA_ENV,
        kinds::NMSTATE,
        kinds::KLUSTERLET_CONFIG,
    ];
    crds.extend(namespaced.map(|kind| stub(kind, "Namespaced")));
    crds
}

/// For a spoke: ClusterVersion, ClusterOperator, MachineConfigPool.
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
