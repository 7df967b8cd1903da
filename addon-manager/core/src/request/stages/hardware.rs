//! Hardware as the request sees it (spec/02 2.4, section 13).

use kube::core::ObjectMeta;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{AllocatedNode, NodeAllocationRequest};
use manifests::meta::annotations;
use serde_json::Value;

use super::{Draft, Stage};
use crate::plan::APPLIED_HASH;
use crate::request::error::InputError;
use crate::request::validate::Validated;
use crate::request::{nar, nodes as node_data, resources, stage};

const BUILD: &str = "Failed to build the NodeAllocationRequest: ";

/// Builds the NodeAllocationRequest, creates it or brings it up to date.
pub(super) fn allocation(d: &mut Draft<'_>, input: &Validated) {
    if d.blocked || d.take_fault(Stage::Allocation, RequestCondition::NodeAllocationRequestRendered, BUILD) {
        return;
    }
    let seen = d.seen;
    let spec = d.instance.as_ref().and_then(|i| i.get("spec")).unwrap_or(&Value::Null);
    let parameters = seen.request.spec.template_parameters.value();
    let skip_cleanup = d.has_annotation(annotations::SKIP_CLEANUP);
    let generation = d.generation();
    let wanted = match nar::build(&parameters, generation, spec, &input.hardware, &input.groups, skip_cleanup)
    {
        Ok(wanted) => wanted,
        Err(error) => {
            d.set(stage::allocation(&Err::<(), _>(error)));
            d.blocked = true;
            return;
        }
    };
    d.set(stage::allocation(&Ok::<(), InputError>(())));
    let live = seen.allocation.as_deref();
    let done = d.phase() == Some(manifests::clcm::ProvisioningPhase::Fulfilled);
    let spec = match nar::reconcile(live, wanted, generation, done) {
        nar::Change::Keep => return,
        nar::Change::Create(spec) | nar::Change::Update(spec) => spec,
    };
    let object = NodeAllocationRequest {
        metadata: ObjectMeta {
            name: seen.request.metadata.name.clone(),
            namespace: Some(seen.operator_namespace.to_owned()),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    };
    let hash = live.and_then(|l| l.metadata.annotations.as_ref()).and_then(|a| a.get(APPLIED_HASH)).cloned();
    d.apply(Stage::Allocation, &object, hash.as_deref());
    // Whatever the hardware says now is about the spec before.
    d.blocked |= live.is_some();
}

/// What the hardware manager says, whether or not the input of this generation can be used.
pub(super) fn status(d: &mut Draft<'_>, input: Option<&Validated>) {
    let seen = d.seen;
    let Some(allocation) = seen.allocation.as_deref() else {
        if input.is_some() && !d.blocked {
            d.set(nar::provisioned(None).condition);
        }
        d.blocked = true;
        return;
    };
    let status = allocation.status.as_ref();
    let provisioned = nar::provisioned(status);
    d.set(provisioned.condition);
    resource_statuses(d);
    let transaction = allocation.spec.config_transaction_id;
    if !provisioned.done || !nar::is_current(allocation) {
        d.blocked = true;
        return;
    }
    match nar::configured(transaction, status) {
        nar::Configured::Absent => {}
        nar::Configured::Stale => d.blocked = true,
        nar::Configured::Current(mapped) => {
            d.set(mapped.condition);
            d.blocked |= !mapped.done;
        }
    }
}

fn own_nodes(d: &Draft<'_>) -> Vec<AllocatedNode> {
    d.seen.nodes.iter().map(|n| n.as_ref().clone()).collect()
}

/// `infrastructureResourceStatuses` (13.6).
fn resource_statuses(d: &mut Draft<'_>) {
    let host_map =
        d.status.extensions.as_ref().map(|e| e.allocated_node_host_map.clone()).unwrap_or_default();
    let spec = d.instance.as_ref().and_then(|i| i.get("spec")).cloned().unwrap_or_default();
    let status = d.seen.allocation.as_ref().and_then(|a| a.status.as_ref());
    let waiting = nar::waiting_hosts(status, &spec, &host_map);
    let list = nar::infrastructure(&own_nodes(d), &host_map, &waiting);
    if !list.is_empty() || d.status.extensions.is_some() {
        d.extensions().infrastructure_resource_statuses = list;
    }
}

/// Data of the allocated hosts into the ClusterInstance, and the pull secret to where the hosts are.
pub(super) fn nodes(d: &mut Draft<'_>, input: &Validated) {
    if d.blocked
        || d.take_fault(
            Stage::Nodes,
            RequestCondition::HardwareNodeConfigApplied,
            "Failed to apply node configuration to the rendered ClusterInstance: ",
        )
    {
        return;
    }
    let installed = d.is_installed();
    let own = own_nodes(d);
    let Some(mut object) = d.instance.take() else { return };
    let result = {
        let host_map =
            d.status.extensions.as_ref().map(|e| e.allocated_node_host_map.clone()).unwrap_or_default();
        let spec = object.get_mut("spec");
        let mut empty = Value::Null;
        let applied = node_data::apply(
            spec.unwrap_or(&mut empty),
            &input.cluster,
            &input.groups,
            &input.hardware,
            &own,
            &host_map,
        );
        if applied.host_map != host_map {
            // Which host is which node is written down before anything is built on it.
            d.extensions().allocated_node_host_map = applied.host_map;
            resource_statuses(d);
            d.blocked = true;
        }
        applied.result
    };
    let spec = object.get("spec").cloned().unwrap_or_default();
    d.instance = Some(object);
    let result = result.and_then(|()| if installed { Ok(()) } else { host_secrets(d, input, &spec, &own) });
    d.blocked |= result.is_err();
    d.set(node_data::condition(&result, installed));
}

fn host_secrets(
    d: &mut Draft<'_>,
    input: &Validated,
    spec: &Value,
    own: &[AllocatedNode],
) -> Result<(), InputError> {
    let Some(name) = resources::pull_secret_name(spec) else { return Ok(()) };
    let copies = resources::host_pull_secrets(name, &input.template_namespace, &input.cluster_name, own)?;
    for copy in copies {
        if !d.seen.pull_secret.copied.contains(&copy.to) {
            let version = d.seen.pull_secret.version.clone().unwrap_or_default();
            let step = copy.step(&d.owner, &version);
            d.push(Stage::Nodes, step);
        }
    }
    Ok(())
}
