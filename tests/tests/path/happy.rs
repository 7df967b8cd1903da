//! From a request to a running cluster, and what is there then.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams};
use manifests::clcm::{ProvisioningPhase as P, ProvisioningRequest, ResourceProvisioningPhase, ztp_status};
use manifests::meta::{annotations, labels, names};
use manifests::ocm::names::ADDON;
use manifests::ran::Agent;
use serde_json::json;
use tests::lab::wait::{self, has_condition};
use tests::scene::fixture::{EXTRA_MANIFESTS, Fixture, Layout, POLICY, PULL_SECRET};

use tests::scene::check;

use crate::kit::{self, Case, LIMIT, list, phase};

/// Conditions of a healthy request in their order (spec/02 3.2): type and message; each is True and Completed.
fn healthy(cluster: &str) -> Vec<(&'static str, String)> {
    [
        ("ProvisioningRequestValidated", "The provisioning request validation succeeded"),
        ("ClusterInstanceRendered", "ClusterInstance rendered and passed dry-run validation"),
        ("ClusterResourcesCreated", "Cluster resources applied"),
        ("NodeAllocationRequestRendered", "Built NodeAllocationRequest successfully"),
        ("HardwareProvisioned", "Hardware provisioning completed: Created"),
        ("HardwareNodeConfigApplied", "Node configuration has been applied to the rendered ClusterInstance"),
        ("ClusterInstanceProcessed", "Applied and processed ClusterInstance (CLUSTER) successfully"),
        ("ClusterProvisioned", "Provisioning completed"),
        ("ConfigurationApplied", "The configuration is up to date"),
    ]
    .into_iter()
    .map(|(type_, text)| (type_, text.replace("CLUSTER", cluster)))
    .collect()
}

fn is_healthy(request: &ProvisioningRequest, cluster: &str) -> Result<()> {
    let conditions = request.status.as_ref().map(|s| s.conditions.clone()).unwrap_or_default();
    let seen: Vec<_> = conditions.iter().map(|c| (c.type_.as_str(), c.message.clone())).collect();
    check::holds(seen == healthy(cluster), "not the conditions of a healthy request", request)?;
    let done = conditions.iter().all(|c| {
        c.status == "True" && c.reason == "Completed" && c.observed_generation == request.metadata.generation
    });
    check::holds(done, "not every condition is True, Completed and of this generation", request)
}

#[test]
fn a_single_node_request_is_fulfilled() -> Result<()> {
    kit::beside(|scene| async move {
        let mark = kit::mark(scene).await?;
        let case = Case::new(scene, Fixture::single("happy-sno").spare(1)).await?;
        let story = case.story();
        case.ask().await?;
        let request = case.fulfilled().await?;

        is_healthy(&request, case.cluster())?;
        story.reaches(&request).await?;
        let phases = story.phases();
        ensure!(phases == [P::Pending, P::Progressing, P::Fulfilled], "{phases:?}: {:#?}", story.details());
        let order: Vec<String> =
            healthy(case.cluster()).into_iter().map(|(type_, _)| type_.to_owned()).collect();
        for version in story.versions() {
            let conditions = version.status.iter().flat_map(|s| &s.conditions);
            let seen: Vec<_> = conditions.map(|c| c.type_.clone()).collect();
            check::holds(order.starts_with(&seen), "conditions are not in order", &version)?;
        }
        let status = request.status.clone().context("a status")?;
        let provisioned = status.provisioning_status.context("provisioningStatus")?;
        let details = "Provisioning request has completed successfully";
        ensure!(provisioned.provisioning_details.as_deref() == Some(details));
        let extensions = status.extensions.context("extensions")?;
        let found = extensions.cluster_details.clone().context("clusterDetails")?;
        ensure!(found.name.as_deref() == Some(case.cluster()));
        ensure!(found.fulfilled_node_count == Some(1), "{found:?}");
        ensure!(found.ztp_status.as_deref() == Some(ztp_status::DONE), "{found:?}");
        ensure!(
            found.cluster_provision_started_at.is_some() && found.non_compliant_at.is_none(),
            "{found:?}"
        );
        let cluster = case.clusters().get(case.cluster()).await?;
        let id = cluster.labels().get(labels::CLUSTER_ID).context("the cluster's id")?;
        let resources = provisioned.provisioned_resources.unwrap_or_default();
        ensure!(resources.o_cloud_node_cluster_id.as_ref() == Some(id), "{resources:?}");
        let [policy] = extensions.policies.as_slice() else { anyhow::bail!("{:?}", extensions.policies) };
        ensure!(policy.policy_name.as_deref() == Some(POLICY), "{policy:?}");
        ensure!(policy.policy_namespace == Some(case.fixture.policy_namespace()), "{policy:?}");
        ensure!(policy.compliant.as_deref() == Some("Compliant"), "{policy:?}");

        allocation(&case).await?;
        hosts(&case, &request).await?;
        instance(&case).await?;
        copies(&case).await?;
        labelled(&case).await?;
        addon_only_once(&case, mark).await?;
        case.end().await
    })
}

#[test]
fn a_multi_node_request_with_flat_nodes_is_fulfilled() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::new(scene, Fixture::multi("happy-mno").layout(Layout::Nodes).spare(1)).await?;
        case.ask().await?;
        let request = case.fulfilled().await?;
        is_healthy(&request, case.cluster())?;
        let count = request
            .status
            .as_ref()
            .and_then(|s| s.extensions.as_ref()?.cluster_details.as_ref()?.fulfilled_node_count);
        ensure!(count == Some(5), "{count:?}");
        allocation(&case).await?;
        hosts(&case, &request).await?;
        instance(&case).await?;
        labelled(&case).await?;
        case.end().await
    })
}

/// The NodeAllocationRequest.
async fn allocation(case: &Case) -> Result<()> {
    let done = |a: &manifests::clcm::NodeAllocationRequest| a.spec.cluster_provisioned;
    let found =
        wait::until(&case.allocations(), &case.name(), LIMIT, "it knows that the cluster is up", done)
            .await?;
    let fixture = &case.fixture;
    let spec = &found.spec;
    let is_right = spec.cluster_id == fixture.cluster
        && spec.site == fixture.site()
        && spec.config_transaction_id == 1
        && spec.hardware_provisioning_timeout.as_deref() == Some("1h0m0s")
        && !spec.skip_cleanup;
    check::holds(is_right, "not the spec that was asked for", &found)?;
    let groups: Vec<_> = spec.node_group.iter().map(|g| (g.node_group_data.role.as_str(), g.size)).collect();
    let mut wanted = vec![("master", i64::try_from(fixture.masters)?)];
    if fixture.workers > 0 {
        wanted.push(("worker", i64::try_from(fixture.workers)?));
    }
    ensure!(groups == wanted, "{groups:?}");
    let status = found.status.clone().context("a status")?;
    let provisioned = status.conditions.iter().find(|c| c.type_ == "Provisioned").context("Provisioned")?;
    ensure!(
        (provisioned.status.as_str(), provisioned.message.as_str()) == ("True", "Created"),
        "{provisioned:?}"
    );
    ensure!(status.node_names().len() == fixture.nodes().len(), "{status:?}");
    Ok(())
}

/// AllocatedNodes, the labels of their hosts, and what the request says about them.
async fn hosts(case: &Case, request: &ProvisioningRequest) -> Result<()> {
    let fixture = &case.fixture;
    let nodes = case.own_nodes().await?;
    ensure!(nodes.len() == fixture.nodes().len(), "{} nodes", nodes.len());
    let extensions = request.status.as_ref().and_then(|s| s.extensions.clone()).context("extensions")?;
    let names: BTreeSet<String> = extensions.allocated_node_host_map.values().cloned().collect();
    let wanted: BTreeSet<String> = fixture.nodes().into_iter().map(|(name, _)| name).collect();
    ensure!(names == wanted, "{:?}", extensions.allocated_node_host_map);
    for node in &nodes {
        let name = node.name_any();
        let spec = &node.spec;
        let host = spec.hw_mgr_node_id.clone().context("hwMgrNodeId")?;
        let is_right = spec.hw_mgr_node_ns == Some(fixture.racks())
            && spec.hw_profile == fixture.profile()
            && name == names::allocated_node(case.cluster(), &fixture.racks(), &host);
        check::holds(is_right, "not the node that was asked for", node)?;
        let bmh = case.hosts().get(&host).await?;
        let is_claimed = bmh.label(labels::ALLOCATED) == Some("true")
            && bmh.label(labels::ALLOCATED_NODE) == Some(name.as_str());
        check::holds(is_claimed, "the host is not claimed for its node", &bmh)?;
        check::holds(bmh.spec.online && bmh.state().is_provisioned(), "the host does not run", &bmh)?;
        let hostname = extensions.allocated_node_host_map.get(&name);
        let node = wait::until(&case.allocated(), &name, LIMIT, "it knows its name in the cluster", |n| {
            n.status.as_ref().is_some_and(|s| s.hostname.as_ref() == hostname)
        })
        .await?;
        let status = node.status.clone().context("a status")?;
        let bmc = status.bmc.context("bmc")?;
        ensure!(bmc.credentials_name == Some(format!("{host}-bmc")), "{bmc:?}");
        let nics: Vec<_> = status.interfaces.iter().map(|i| (i.label.as_str(), i.name.as_str())).collect();
        ensure!(
            nics.contains(&("boot-interface", "eno1")) && nics.contains(&("fronthaul", "ens5f0")),
            "{nics:?}"
        );
        ensure!(has_condition(&node, "Provisioned", "True"), "{}", wait::yaml(&node));
        let shown = extensions.infrastructure_resource_statuses.iter().find(|r| r.resource_id == name);
        let shown = shown.with_context(|| format!("no resource {name}"))?;
        ensure!(Some(&shown.resource_name) == hostname, "{shown:?}");
        ensure!(shown.resource_provisioning_phase == ResourceProvisioningPhase::Provisioned, "{shown:?}");
    }
    let claimed = case.claimed().await?;
    ensure!(claimed.len() == nodes.len(), "{claimed:?}");
    Ok(())
}

/// The ClusterInstance has the data of the hosts.
async fn instance(case: &Case) -> Result<()> {
    let found = case.instances().get(case.cluster()).await?;
    ensure!(found.labels().get(labels::REQUEST_NAME) == Some(&case.name()), "{:?}", found.labels());
    let spec = found.spec.0.value();
    let nodes = spec["nodes"].as_array().context("nodes")?;
    let shape: Vec<_> = nodes
        .iter()
        .map(|n| (n["hostName"].as_str().unwrap_or_default(), n["role"].as_str().unwrap_or_default()))
        .collect();
    let wanted = case.fixture.nodes();
    let wanted: Vec<_> = wanted.iter().map(|(name, role)| (name.as_str(), *role)).collect();
    ensure!(shape == wanted, "{shape:?}");
    let mut used = BTreeSet::new();
    for node in nodes {
        let host = node["hostRef"]["name"].as_str().context("hostRef.name")?;
        ensure!(node["hostRef"]["namespace"] == json!(case.fixture.racks()), "{node:#}");
        ensure!(used.insert(host.to_owned()), "host {host} twice: {spec:#}");
        let number: usize = host.trim_start_matches("host-").parse()?;
        let mac = case.fixture.mac(number);
        ensure!(node["bootMACAddress"].as_str().is_some_and(|m| m.eq_ignore_ascii_case(&mac)), "{node:#}");
        ensure!(node["bmcCredentialsName"]["name"] == json!(format!("{host}-bmc")), "{node:#}");
        ensure!(
            node["bmcAddress"].as_str().is_some_and(|a| a.ends_with(&format!("{}-{number}", case.cluster()))),
            "{node:#}"
        );
        let interfaces = node["nodeNetwork"]["interfaces"].as_array().context("interfaces")?;
        ensure!(interfaces.len() == 2, "{node:#}");
        for interface in interfaces {
            let keys: Vec<_> = interface.as_object().context("a map")?.keys().map(String::as_str).collect();
            ensure!(keys == ["macAddress", "name"], "{interface}");
        }
        let own = node["nodeNetwork"]["config"]["interfaces"][0].clone();
        ensure!(own["ipv4"]["address"][0]["prefix-length"] == 24 && own["state"] == "up", "{own}");
    }
    Ok(())
}

/// Policy parameters, pull secret and extra manifests, where they belong.
async fn copies(case: &Case) -> Result<()> {
    let fixture = &case.fixture;
    let name = names::policy_config_map(case.cluster());
    let map = case.maps(&fixture.policy_namespace()).get(&name).await?;
    let data = map.data.clone().unwrap_or_default();
    let wanted = [("cpu-isolated", "4-31"), ("cpu-reserved", "0-1")];
    ensure!(data.iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(wanted), "{data:?}");
    let source = case.secrets(&fixture.template_namespace()).get(PULL_SECRET).await?;
    for namespace in [case.cluster(), &fixture.racks()] {
        let copy = case.secrets(namespace).get(PULL_SECRET).await?;
        ensure!(copy.data == source.data && copy.type_ == source.type_, "pull secret in {namespace}");
    }
    let source = case.maps(&fixture.template_namespace()).get(EXTRA_MANIFESTS).await?;
    let copy = case.maps(case.cluster()).get(EXTRA_MANIFESTS).await?;
    ensure!(copy.data == source.data, "extra manifests");
    Ok(())
}

/// Labels of the ManagedCluster and of the Agents.
async fn labelled(case: &Case) -> Result<()> {
    let template = case.templates().get(&case.fixture.template_name()).await?;
    let id = template.spec.template_id.as_ref().context("templateId")?;
    let cluster = case.clusters().get(case.cluster()).await?;
    check::holds(cluster.labels().get(labels::TEMPLATE_ID) == Some(id), "no templateId", &cluster)?;
    let held = cluster.annotations().contains_key(annotations::DISABLE_AUTO_IMPORT);
    check::holds(!held, "an installed cluster may be imported", &cluster)?;
    let agents: Api<Agent> = Api::all(case.client());
    let selector = format!("{}={}", labels::AGENT_CLUSTER_NAMESPACE, case.cluster());
    let agents = agents.list(&ListParams::default().labels(&selector)).await?.items;
    ensure!(agents.len() == case.fixture.nodes().len(), "{} agents", agents.len());
    let hosts = case.hosts().list(&ListParams::default()).await?.items;
    for agent in &agents {
        check::holds(agent.labels().get(labels::TEMPLATE_ID) == Some(id), "no templateId", agent)?;
        let host = hosts
            .iter()
            .find(|h| Some(&h.name_any()) == agent.labels().get("agent-install.openshift.io/bmh"));
        let uid = host.and_then(|h| h.metadata.uid.as_ref());
        check::holds(
            uid.is_some() && agent.labels().get(labels::HOST_ID) == uid,
            "not the id of its host",
            agent,
        )?;
    }
    Ok(())
}

/// The add-on is enabled once; when a user takes it away, no later pass brings it back.
async fn addon_only_once(case: &Case, mark: tests::lab::audit::Mark) -> Result<()> {
    wait::present(&case.addons(), ADDON, LIMIT).await?;
    case.addons().delete(ADDON, &DeleteParams::default()).await?;
    wait::gone(&case.addons(), ADDON, LIMIT).await?;
    let labels = json!({"ManagedCluster": {"later": "yes"}});
    case.edit(
        json!({"spec": {"templateParameters": {"clusterInstanceParameters": {"extraLabels": labels}}}}),
    )
    .await?;
    let request = case.fulfilled().await?;
    ensure!(request.metadata.generation == Some(2) && phase(&request) == Some(P::Fulfilled));
    let is_labelled =
        |c: &manifests::ocm::ManagedCluster| c.labels().get("later").is_some_and(|l| l == "yes");
    wait::until(&case.clusters(), case.cluster(), LIMIT, "the later label is there", is_labelled).await?;
    ensure!(case.addons().get_opt(ADDON).await?.is_none(), "the add-on came back");
    let mut made = kit::writes(case.scene, mark).await?;
    made.retain(|w| w.resource == "managedclusteraddons" && w.namespace == case.cluster() && w.code == 201);
    ensure!(made.len() == 1, "the add-on was made {} times:\n{}", made.len(), list(&made));
    Ok(())
}
