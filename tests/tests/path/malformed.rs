//! Bad input of every kind: an answer that names the field, and nobody else suffers.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use manifests::addon::SpokeReport;
use manifests::clcm::ProvisioningPhase;
use serde_json::{Value, json};
use tests::lab::hub::OPERATOR_NAMESPACE;
use tests::lab::{self, apply, wait};
use tests::scene::Scene;
use tests::scene::fixture::{CLUSTER_DEFAULTS, Fixture, POLICY_DEFAULTS};

use crate::kit::{self, Case, LIMIT, condition, details, phase};

/// Creates `object`; returns what the API server says against it.
async fn refusal(scene: &Scene, object: &Value) -> Result<String> {
    let kind = object["kind"].as_str().context("kind")?;
    let plural = match kind {
        "Inventory" => "inventories".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let resource = lab::dynamic(object["apiVersion"].as_str().context("apiVersion")?, kind, &plural);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(scene.client(), namespace, &resource),
        None => Api::all_with(scene.client(), &resource),
    };
    match api.create(&PostParams::default(), &apply::object(object.clone())?).await {
        Ok(_) => anyhow::bail!("accepted: {object:#}"),
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => Ok(status.message.clone()),
        Err(error) => Err(error.into()),
    }
}

/// `object` with `value` at `pointer`, or without it if `value` is null.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        if value.is_null() {
            map.remove(key);
        } else {
            map.insert(key.to_owned(), value);
        }
    }
    object
}

/// An object named `bad` of a kind of ours.
fn bad(group: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1alpha1"), "kind": kind,
        "metadata": {"name": "bad", "namespace": OPERATOR_NAMESPACE}, "spec": spec})
}

fn clcm(kind: &str, spec: &Value) -> Value {
    bad("clcm.openshift.io", kind, spec)
}

fn ocloud(kind: &str, spec: &Value) -> Value {
    bad("ocloud.openshift.io", kind, spec)
}

#[test]
fn the_api_server_refuses_what_is_no_object_of_its_kind() -> Result<()> {
    kit::beside(|scene| async move {
        let fixture = Fixture::single("bad-schema");
        let template = with(fixture.cluster_template(), "/metadata/namespace", json!(OPERATOR_NAMESPACE));
        let request = fixture.request();
        let allocation = json!({"clusterId": "c", "site": "s", "configTransactionId": 1,
            "nodeGroup": [{"size": 1, "nodeGroupData": {"name": "master", "role": "master"}}]});
        let node = json!({"nodeAllocationRequest": "r", "groupName": "master", "hwProfile": "p"});
        let image = json!({"name": "i", "component": "bios", "version": "1", "url": "https://example.org/i"});
        let cases = [
            (
                with(template.clone(), "/metadata/name", json!("other.v1")),
                "metadata.name must be in the form of",
            ),
            (with(template.clone(), "/spec/release", json!(4.2)), "spec.release"),
            (
                with(
                    template.clone(),
                    "/spec/templateDefaults/hwMgmtDefaults/nodeGroupData/0/role",
                    json!("boss"),
                ),
                "spec.templateDefaults.hwMgmtDefaults.nodeGroupData[0].role",
            ),
            (
                with(template, "/spec/templateParameterSchema", json!("object")),
                "spec.templateParameterSchema",
            ),
            (with(request.clone(), "/spec/templateName", Value::Null), "spec.templateName"),
            (with(request.clone(), "/spec/templateVersion", json!("")), "spec.templateVersion"),
            (with(request, "/spec/templateParameters", json!(["a"])), "spec.templateParameters"),
            (
                clcm("NodeAllocationRequest", &with(allocation.clone(), "/clusterId", Value::Null)),
                "spec.clusterId",
            ),
            (
                clcm("NodeAllocationRequest", &with(allocation, "/nodeGroup/0/size", json!("one"))),
                "spec.nodeGroup[0].size",
            ),
            (
                clcm("AllocatedNode", &with(node, "/nodeAllocationRequest", Value::Null)),
                "spec.nodeAllocationRequest",
            ),
            (clcm("HardwareProfile", &json!({})), "spec.bios"),
            (clcm("HardwareProfile", &json!({"bios": {"attributes": {"a": [1]}}})), "spec.bios.attributes.a"),
            (
                clcm("FirmwareCatalog", &json!({"images": [with(image, "/url", json!("ftp://x"))]})),
                "spec.images[0].url",
            ),
            (ocloud("Location", &json!({"description": "d"})), "at least one of coordinate"),
            (
                ocloud(
                    "Location",
                    &json!({"description": "d", "coordinate": {"latitude": "91", "longitude": "0"}}),
                ),
                "latitude must be between",
            ),
            (ocloud("OCloudSite", &json!({"description": "d"})), "spec.globalLocationName"),
            (
                ocloud("ResourcePool", &json!({"description": "d", "oCloudSiteName": 5})),
                "spec.oCloudSiteName",
            ),
            (ocloud("Inventory", &json!({"smo": {"url": "https://smo"}})), "spec.smo.registrationEndpoint"),
        ];
        for (object, field) in cases {
            let text = refusal(scene, &object).await?;
            ensure!(text.contains(field), "{field:?} is not in {text:?}: {object:#}");
        }

        let reports: Api<SpokeReport> = Api::namespaced(scene.client(), "default");
        scene
            .put(vec![json!({"apiVersion": "addon.clcm.openshift.io/v1alpha1", "kind": "SpokeReport",
                "metadata": {"name": "bad", "namespace": "default"}})])
            .await?;
        let status = Patch::Merge(json!({"status": {"clusterVersion": "four"}}));
        let answer = reports.patch_status("bad", &PatchParams::default(), &status).await;
        let text = answer.err().map(|e| e.to_string()).unwrap_or_default();
        ensure!(text.contains("status.clusterVersion"), "{text:?}");

        scene
            .put(vec![with(clcm("HardwareProfile", &json!({"bios": {}})), "/metadata/name", json!("fixed"))])
            .await?;
        let profiles = lab::dynamic("clcm.openshift.io/v1alpha1", "HardwareProfile", "hardwareprofiles");
        let profiles: Api<DynamicObject> =
            Api::namespaced_with(scene.client(), OPERATOR_NAMESPACE, &profiles);
        let change = json!({"spec": {"bios": {"attributes": {"a": "b"}}}});
        let answer = kit::merge(&profiles, "fixed", &change).await;
        let text = answer.err().map(|e| format!("{e:#}")).unwrap_or_default();
        ensure!(text.contains("HardwareProfile spec is immutable"), "{text:?}");
        Ok(())
    })
}

#[test]
fn a_template_names_its_missing_config_map_and_heals() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::bare(scene, Fixture::single("bad-map"));
        let mut world = case.fixture.world();
        let is_map =
            |o: &Value| o["metadata"]["name"] == CLUSTER_DEFAULTS || o["metadata"]["name"] == POLICY_DEFAULTS;
        let maps: Vec<Value> = world.extract_if(.., |o| is_map(o)).collect();
        scene.put(world).await?;
        case.ask().await?;
        for (missing, map) in [CLUSTER_DEFAULTS, POLICY_DEFAULTS].iter().zip(maps) {
            let text = format!(
                "the ConfigMap '{missing}' is not found in the namespace '{}'",
                case.fixture.template_namespace()
            );
            let name = case.fixture.template_name();
            wait::until(&case.templates(), &name, LIMIT, &format!("it says {text:?}"), |t| {
                let status = t.status.iter().flat_map(|s| &s.conditions);
                status.clone().any(|c| {
                    c.type_ == "ClusterTemplateValidated" && c.status == "False" && c.message.contains(&text)
                })
            })
            .await?;
            case.says("ProvisioningRequestValidated", "False", "does not exist in any namespace").await?;
            scene.put(vec![map]).await?;
        }
        let name = case.fixture.template_name();
        wait::condition(&case.templates(), &name, LIMIT, "ClusterTemplateValidated", "True").await?;
        case.says("HardwareProvisioned", "True", "Created").await?;
        case.end().await
    })
}

#[test]
fn a_missing_pull_secret_heals() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::bare(scene, Fixture::single("bad-secret"));
        let mut world = case.fixture.world();
        let secret = case.fixture.pull_secret();
        world.retain(|o| *o != secret);
        scene.put(world).await?;
        case.ask().await?;
        let text = format!(
            "pull secret pull-secret expected to exist in the {} namespace, but it is missing",
            case.fixture.template_namespace()
        );
        let request = case.says("ClusterResourcesCreated", "False", &text).await?;
        ensure!(phase(&request) == Some(ProvisioningPhase::Failed), "{}", details(&request));
        ensure!(details(&request).contains(&text), "{}", details(&request));
        scene.put(vec![secret]).await?;
        case.says("ClusterResourcesCreated", "True", "applied").await?;
        case.says("HardwareProvisioned", "True", "Created").await?;
        case.end().await
    })
}

/// A request of a template that exists, with other parameters and another cluster name.
fn bad_request(good: &Fixture, number: usize, change: impl Fn(Value) -> Value) -> Value {
    change(good.sibling(&format!("{}-{number}", good.cluster)))
}

#[test]
fn bad_requests_name_the_field_and_disturb_nobody() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::new(scene, Fixture::single("bad-beside")).await?;
        let tree = "/spec/templateParameters";
        let cluster = format!("{tree}/clusterInstanceParameters");
        let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
        let set = |pointer: String, value: Value| move |r: Value| with(r, &pointer, value.clone());
        let requests = [
            (
                bad_request(
                    &case.fixture,
                    0,
                    set(format!("{cluster}/nodeGroups/0/nodes/0/hostName"), json!(7)),
                ),
                "nodeGroups.0.nodes.0.hostName: Invalid type. Expected: string, given: integer",
            ),
            (
                bad_request(
                    &case.fixture,
                    1,
                    set(format!("{cluster}/nodeGroups/0/nodes/0/colour"), json!("red")),
                ),
                "nodeGroups.0.nodes.0: Additional property colour is not allowed",
            ),
            (
                bad_request(
                    &case.fixture,
                    2,
                    set(format!("{tree}/policyTemplateParameters/cpu-isolated"), json!(4)),
                ),
                "cpu-isolated: Invalid type. Expected: string, given: integer",
            ),
            (bad_request(&case.fixture, 3, set(tree.to_owned(), json!({}))), "nodeClusterName is required"),
            (
                bad_request(
                    &case.fixture,
                    4,
                    set(
                        tree.to_owned(),
                        json!({
                            "nodeClusterName": {"a": null}, "oCloudSiteId": [[]], "policyTemplateParameters": true,
                            "clusterInstanceParameters": deep, "\u{0}": "\u{fffd}", "": {"": ""},
                        }),
                    ),
                ),
                "clusterInstanceParameters: Invalid type. Expected: object, given: array",
            ),
            (
                bad_request(&case.fixture, 5, set(format!("{cluster}/nodeGroups/0/name"), json!("nobody"))),
                "nodeGroups",
            ),
            (
                bad_request(&case.fixture, 6, set(format!("{cluster}/clusterName"), json!("kube-system"))),
                "clusterName \"kube-system\" targets a reserved namespace",
            ),
            (
                bad_request(&case.fixture, 7, set("/spec/templateVersion".to_owned(), json!("v0"))),
                "bad-beside.v0",
            ),
            (
                bad_request(
                    &case.fixture,
                    8,
                    set(
                        format!("{cluster}/nodeGroups/0/nodes/0/nodeNetwork/interfaces/0/addresses/ipv4"),
                        json!(["nonsense"]),
                    ),
                ),
                "nonsense",
            ),
        ];
        let mut all: Vec<Value> = requests.iter().map(|(object, _)| object.clone()).collect();
        all.push(case.fixture.request());
        scene.put(all).await?;
        for (object, field) in &requests {
            let name = object["metadata"]["name"].as_str().context("a name")?;
            let request = wait::until(&case.requests(), name, LIMIT, &format!("it says {field:?}"), |r| {
                phase(r) == Some(ProvisioningPhase::Failed) && details(r).contains(field)
            })
            .await?;
            let found = condition(&request, "ProvisioningRequestValidated").context("Validated")?;
            ensure!(found.status == "False" && found.reason == "Failed", "{found:?}");
            ensure!(found.message == details(&request), "{found:?}");
        }
        case.fulfilled().await?;
        let claimed = case.claimed().await?;
        ensure!(claimed.len() == 1, "{claimed:?}");
        for (object, _) in &requests {
            let name = object["metadata"]["name"].as_str().context("a name")?;
            ensure!(case.allocations().get_opt(name).await?.is_none(), "hosts were asked for {name}");
            let request = case.requests().get(name).await?;
            ensure!(
                request.status.as_ref().is_some_and(|s| s.conditions.len() == 1),
                "{}",
                wait::yaml(&request)
            );
            case.requests().delete(name, &DeleteParams::default()).await?;
            wait::gone(&case.requests(), name, LIMIT).await?;
        }
        // What was wrong can be put right.
        let (bad, _) = &requests[0];
        scene.put(vec![bad.clone()]).await?;
        let name = bad["metadata"]["name"].as_str().context("a name")?;
        let fixed = bad_request(&case.fixture, 0, |r| r);
        scene.put(vec![fixed]).await?;
        let request =
            wait::condition(&case.requests(), name, LIMIT, "ProvisioningRequestValidated", "True").await?;
        ensure!(request.name_any() == name);
        case.requests().delete(name, &DeleteParams::default()).await?;
        wait::gone(&case.requests(), name, LIMIT).await?;
        case.end().await
    })
}

#[test]
fn a_template_with_a_schema_that_is_none_says_so() -> Result<()> {
    kit::beside(|scene| async move {
        let fixture = Fixture::single("bad-tpl");
        let mut objects = fixture.template();
        let template = objects.last_mut().context("the template")?;
        template["spec"]["templateParameterSchema"]["properties"]["nodeClusterName"] = json!({"type": 7});
        scene.put(objects).await?;
        let templates: Api<manifests::clcm::ClusterTemplate> =
            Api::namespaced(scene.client(), &fixture.template_namespace());
        let name = fixture.template_name();
        wait::until(&templates, &name, LIMIT, "it says what is wrong", |t| {
            let status = t.status.iter().flat_map(|s| &s.conditions);
            status.clone().any(|c| c.status == "False" && c.message.contains("nodeClusterName"))
        })
        .await?;
        Ok(())
    })
}
