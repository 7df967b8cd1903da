//! Copies of Secrets. Content is read when the copy is made and kept nowhere.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, Patch, PatchParams};
use manager_core::plan::manager;
use serde_json::{Value, json};
use tracing::info;

use super::act::{CallError, call};
use super::context::Context;

/// Copies the Secret `namespace`/`name` to namespace `to`. `metadata` has the owner references that the copy must have;
/// those of others stay, so that the copy goes with the last of its owners (spec/02 B-15).
pub(super) async fn copy(
    ctx: &Context,
    (namespace, name): &(String, String),
    to: &str,
    metadata: &Value,
) -> Result<(), CallError> {
    let mine: Vec<OwnerReference> = metadata
        .get("ownerReferences")
        .and_then(|list| serde_json::from_value(list.clone()).ok())
        .unwrap_or_default();
    let source: Api<Secret> = Api::namespaced(ctx.client.clone(), namespace);
    let Some(secret) = call(source.get_opt(name)).await? else {
        ctx.secrets.forget(namespace, name);
        return Err(CallError::Missing(format!("secret {namespace}/{name} does not exist")));
    };
    let version = secret.metadata.resource_version.clone().unwrap_or_default();
    {
        // Requests that share a copy add their reference one after the other.
        let _turn = ctx.secrets.turn().await;
        write(ctx, &secret, name, to, &mine).await?;
    }
    for owner in &mine {
        ctx.secrets.copied(ctx, (namespace, name), to, &owner.uid, &version);
    }
    Ok(())
}

async fn write(
    ctx: &Context,
    secret: &Secret,
    name: &str,
    to: &str,
    mine: &[OwnerReference],
) -> Result<(), CallError> {
    let target: Api<Secret> = Api::namespaced(ctx.client.clone(), to);
    let live = call(target.get_opt(name)).await?;
    let there = live.as_ref().and_then(|s| s.metadata.owner_references.as_deref()).unwrap_or_default();
    let owners = owners(there, mine);
    if live.as_ref().is_some_and(|l| l.data == secret.data && l.type_ == secret.type_) && owners == there {
        return Ok(());
    }
    let mut copy = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": to, "ownerReferences": owners},
        "type": secret.type_,
        "data": secret.data,
    });
    // Whoever wrote it since it was read makes this a conflict.
    let seen = live.and_then(|l| l.metadata.resource_version);
    if let (Some(seen), Some(meta)) = (seen, copy.get_mut("metadata").and_then(Value::as_object_mut)) {
        meta.insert("resourceVersion".to_owned(), json!(seen));
    }
    let params = PatchParams::apply(manager::OBJECTS).force();
    call(target.patch(name, &params, &Patch::Apply(&copy))).await?;
    info!(kind = "Secret", namespace = to, name, "copied");
    Ok(())
}

/// The owners that are there, and those of `mine` that are not. An object has one controller only: one of mine takes the
/// place of any other.
fn owners(there: &[OwnerReference], mine: &[OwnerReference]) -> Vec<OwnerReference> {
    let controls = mine.iter().any(|o| o.controller == Some(true));
    let known: BTreeSet<&str> = there.iter().map(|o| o.uid.as_str()).collect();
    let is_mine = |o: &&OwnerReference| mine.iter().any(|m| m.uid == o.uid);
    let kept = there.iter().filter(|o| is_mine(o) || !(controls && o.controller == Some(true)));
    kept.chain(mine.iter().filter(|o| !known.contains(o.uid.as_str()))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(uid: &str, controller: Option<bool>) -> OwnerReference {
        OwnerReference { uid: uid.to_owned(), controller, ..OwnerReference::default() }
    }

    #[test]
    fn owners_are_added_and_a_controller_is_replaced() {
        let shared = [owner("a", None), owner("b", None)];
        assert_eq!(owners(&shared[..1], &shared[1..]), shared);
        assert_eq!(owners(&shared, &shared[1..]), shared);
        let (old, new) = (owner("old", Some(true)), owner("new", Some(true)));
        assert_eq!(owners(&[old, shared[0].clone()], std::slice::from_ref(&new)), [shared[0].clone(), new]);
    }
}
