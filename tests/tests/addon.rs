//! The add-on contract with the real OCM (spec/07): from a ManagedClusterAddOn to a reporting agent, through loss and
//! removal, with the manager and the agent under the rights that we ship.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use manifests::addon::{REPORT_NAME, SpokeReport};
use manifests::ocm::names::{self, ADDON, AGENT_ROLE_BINDING, DEFAULT_INSTALL_NAMESPACE as INSTALL};
use manifests::ocm::{ClusterManagementAddOn, ManagedClusterAddOn, ManifestWork};
use serde_json::{Value, json};
use tests::lab::pod::Pod;
use tests::lab::product::{self, Manager, ManagerOptions};
use tests::lab::wait::{self, has_condition};
use tests::lab::{self, Lab, Spoke, apply};
use tests::sim;
use tests::sim::openshift::Cluster;
use tokio::sync::OnceCell;

const LIMIT: Duration = Duration::from_mins(1);
const VERSION: &str = "4.20.1";

fn print(step: &str, time: Duration) {
    lab::progress::line(&format!("{:>8.2} s  {step}", time.as_secs_f64()));
}

/// The manager of this test binary, with the add-on installed.
async fn manager() -> Result<&'static Manager> {
    static MANAGER: OnceCell<Manager> = OnceCell::const_new();
    let start = || async {
        let lab = Lab::shared().await?;
        apply::path(&lab.hub().client(), &chart().join("files/addon.yaml")).await?;
        let manager = Manager::start(lab.base(), lab.hub(), &ManagerOptions::default()).await?;
        manager.until_ready(LIMIT).await?;
        anyhow::Ok(manager)
    };
    MANAGER.get_or_try_init(start).await
}

fn chart() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/addon-manager")
}

/// A cluster that joined, and everything that the tests look at.
struct Site {
    name: String,
    spoke: Arc<Spoke>,
    addons: Api<ManagedClusterAddOn>,
    reports: Api<SpokeReport>,
    works: Api<ManifestWork>,
}

async fn site(name: &str) -> Result<Site> {
    manager().await?;
    let spoke = Lab::shared().await?.joined_spoke(name).await?;
    look_at(name, spoke).await
}

async fn look_at(name: &str, spoke: Arc<Spoke>) -> Result<Site> {
    let hub = Lab::shared().await?.hub().client();
    Ok(Site {
        name: name.to_owned(),
        spoke,
        addons: Api::namespaced(hub.clone(), name),
        reports: Api::namespaced(hub.clone(), name),
        works: Api::namespaced(hub, name),
    })
}

impl Site {
    /// Installs the add-on as a user would, and runs what it deploys.
    async fn install(&self) -> Result<Pod> {
        let addon = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": {"name": ADDON, "namespace": self.name}, "spec": {},
        });
        self.addons.patch(ADDON, &PatchParams::apply("user"), &Patch::Apply(addon)).await?;
        product::agent(Lab::shared().await?.base(), &self.spoke).await
    }

    async fn addon_says(&self, type_: &str, status: &str) -> Result<ManagedClusterAddOn> {
        wait::condition(&self.addons, ADDON, LIMIT, type_, status).await
    }

    async fn report(&self, what: &str, ready: impl Fn(&Value) -> bool) -> Result<SpokeReport> {
        let is = |r: &SpokeReport| {
            r.status.as_ref().is_some_and(|s| serde_json::to_value(s).is_ok_and(|v| ready(&v)))
        };
        wait::until(&self.reports, REPORT_NAME, LIMIT, what, is).await
    }
}

async fn may(user: &str, verb: &str, group: &str, resource: &str, namespace: &str) -> Result<bool> {
    let api: Api<SubjectAccessReview> = Api::all(Lab::shared().await?.hub().client());
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: Some(subresource.to_owned()),
                namespace: Some(namespace.to_owned()),
                name: Some(REPORT_NAME.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|s| s.allowed))
}

/// T2, T3, T6: the whole way, under the klusterlet's restricted rights, and back.
#[test]
fn s07_t2_an_addon_is_deployed_reports_and_goes() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let site = site("trip").await?;
        sim::openshift::seed(&site.spoke.client(), &Cluster::new(VERSION, &["n1", "n2", "n3"])).await?;
        let begin = Instant::now();
        let pod = site.install().await?;
        site.addon_says("RegistrationApplied", "True").await?;
        print("add-on: registration applied", begin.elapsed());
        site.addon_says("ManifestApplied", "True").await?;
        print("        manifests applied", begin.elapsed());
        let secrets: Api<Secret> = Api::namespaced(site.spoke.client(), INSTALL);
        wait::present(&secrets, names::HUB_KUBECONFIG_SECRET, LIMIT).await?;
        print("        hub kubeconfig on the spoke", begin.elapsed());
        let report =
            site.report("it tells the version", |r| r["clusterVersion"]["version"] == VERSION).await?;
        print("        first report", begin.elapsed());
        let status = serde_json::to_value(report.status.as_ref().context("no status")?)?;
        ensure!(status["nodes"]["summary"] == "3/3", "{status}");
        ensure!(status["operators"]["total"].as_i64().unwrap_or_default() > 20, "{status}");
        ensure!(status.get("blockers").is_none(), "a fresh cluster has no blockers: {status}");
        ensure!(has_condition(&report, "Degraded", "False"), "{status}");
        let addon = site.addon_says("Available", "True").await?;
        print("        available (OCM looks every 30 s)", begin.elapsed());
        ensure!(!has_condition(&addon, "Degraded", "True"), "{}", wait::yaml(&addon));
        site.addon_says("Degraded", "False").await?;
        let addon = site.addon_says("Progressing", "False").await?;
        ensure!(wait::yaml(&addon).contains("completed with no errors."), "{}", wait::yaml(&addon));

        // Rights: its own report, and nothing beside it; nothing in the namespace of another cluster.
        let user = names::agent_user(&site.name);
        let group = "addon.clcm.openshift.io";
        ensure!(may(&user, "patch", group, "spokereports/status", "trip").await?, "its report");
        ensure!(!may(&user, "create", group, "spokereports", "trip").await?, "it may not create reports");
        ensure!(!may(&user, "patch", group, "spokereports", "trip").await?, "it may not change the object");
        ensure!(!may(&user, "patch", group, "spokereports/status", "other").await?, "reports of others");
        ensure!(!may(&user, "get", "", "secrets", "trip").await?, "secrets");
        ensure!(
            !may(&user, "list", "cluster.open-cluster-management.io", "managedclusters", "").await?,
            "clusters"
        );

        // A change of phase arrives at once, trouble is shown on the add-on, and it ends.
        change_version(&site.spoke, "Working towards 4.20.5: 711 of 903 done (78% complete)", "True").await?;
        let begin = Instant::now();
        site.report("it tells the progress", |r| r["progress"]["percent"] == 78).await?;
        print("        a change of phase on the hub", begin.elapsed());
        ensure!(begin.elapsed() < Duration::from_secs(3), "phases do not wait: {:?}", begin.elapsed());
        let addon = site.addon_says("Degraded", "True").await?;
        ensure!(
            wait::yaml(&addon).contains("ClusterVersion is failing: UpdatePayloadFailed: no"),
            "{}",
            wait::yaml(&addon)
        );
        change_version(&site.spoke, "Cluster version is 4.20.1", "False").await?;
        site.addon_says("Degraded", "False").await?;

        // At rest nobody writes about this cluster: neither the manager nor the agent.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mark = lab.hub().audit().mark().await?;
        tokio::time::sleep(Duration::from_secs(12)).await;
        for who in [manager().await?.user(), user] {
            let writes = lab.hub().audit().writes_of(&who, mark).await?;
            let writes: Vec<_> =
                writes.into_iter().filter(|w| w.namespace == site.name && w.resource != "leases").collect();
            ensure!(writes.is_empty(), "{who} writes at rest: {writes:?}");
        }

        // Gone: everything that it brought, but not the namespace that it shares with others.
        let begin = Instant::now();
        site.addons.delete(ADDON, &DeleteParams::default()).await?;
        wait::gone(&site.addons, ADDON, LIMIT).await?;
        wait::gone(&site.works, "addon-ocloud-deploy-0", LIMIT).await?;
        wait::gone(&site.reports, REPORT_NAME, LIMIT).await?;
        let bindings: Api<RoleBinding> = Api::namespaced(lab.hub().client(), &site.name);
        wait::gone(&bindings, AGENT_ROLE_BINDING, LIMIT).await?;
        let deployments: Api<Deployment> = Api::namespaced(site.spoke.client(), INSTALL);
        wait::gone(&deployments, product::AGENT_DEPLOYMENT, LIMIT).await?;
        wait::gone(&secrets, names::HUB_KUBECONFIG_SECRET, LIMIT).await?;
        print("        removed", begin.elapsed());
        let namespace = Api::<Namespace>::all(site.spoke.client()).get(INSTALL).await?;
        ensure!(namespace.metadata.deletion_timestamp.is_none(), "the shared namespace stays");
        wait::poll(LIMIT, "the agent has ended", || async { pod.process().is_none() }).await
    })
}

/// Writes the conditions Progressing and Failing of the spoke's ClusterVersion, as its operator would.
async fn change_version(spoke: &Spoke, progressing: &str, moving: &str) -> Result<()> {
    let kind = lab::dynamic("config.openshift.io/v1", "ClusterVersion", "clusterversions");
    let versions: Api<DynamicObject> = Api::all_with(spoke.client(), &kind);
    let mut version = versions.get("version").await?;
    let conditions = version.data.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.context("no conditions")? {
        match condition["type"].as_str() {
            Some("Progressing") => {
                condition["status"] = json!(moving);
                condition["message"] = json!(progressing);
            }
            Some("Failing") => {
                condition["status"] = json!(moving);
                condition["reason"] = json!("UpdatePayloadFailed");
                condition["message"] = json!("no");
            }
            _ => {}
        }
    }
    versions.replace_status("version", &PostParams::default(), &version).await?;
    Ok(())
}

/// T4: the spoke's registration agent uses tokens, and names the subject itself.
#[test]
fn s07_t4_the_token_driver_works_too() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        manager().await?;
        let spoke = lab.spoke("token").await?;
        spoke.join_with(lab.hub(), "token", &["--addon-kubeclient-registration-auth=token"]).await?;
        spoke.until_available(lab.hub(), LIMIT).await?;
        let site = look_at("token", spoke).await?;
        let _pod = site.install().await?;
        let addon = site.addon_says("RegistrationApplied", "True").await?;
        ensure!(
            addon.status.as_ref().is_some_and(|s| s.kube_client_driver.as_deref() == Some("token")),
            "{}",
            wait::yaml(&addon)
        );
        site.report("it has come with a token", |r| r["nodes"]["summary"].is_string()).await?;
        let addon = site.addon_says("Available", "True").await?;
        let text = wait::yaml(&addon);
        ensure!(text.contains(&names::agent_token_user("token")), "{text}");
        ensure!(!text.contains(&names::agent_user("token")), "{text}");
        Ok(())
    })
}

/// T5: the agent is lost and comes back; OCM calls a lease stale after 300 s, so the test writes an old one.
#[test]
fn s07_t5_a_lost_agent_is_told_and_comes_back() -> Result<()> {
    lab::run(async {
        let site = site("lost").await?;
        let pod = site.install().await?;
        site.addon_says("Available", "True").await?;
        site.addon_says("Degraded", "False").await?;
        let process = pod.until_running(LIMIT).await?;
        process.signal(tests::lab::supervisor::Kind::Stop).await?;
        let leases: Api<Lease> = Api::namespaced(site.spoke.client(), INSTALL);
        let old = json!({"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}});
        leases.patch(ADDON, &PatchParams::default(), &Patch::Merge(old)).await?;
        let addon = site.addon_says("Degraded", "True").await?;
        let text = wait::yaml(&addon);
        ensure!(text.contains("AgentNotAvailable") && text.contains("its last report is of"), "{text}");
        process.signal(tests::lab::supervisor::Kind::Cont).await?;
        site.addon_says("Available", "True").await?;
        site.addon_says("Degraded", "False").await?;

        // New credentials: the client is rebuilt, and the report goes on.
        let secrets: Api<Secret> = Api::namespaced(site.spoke.client(), INSTALL);
        secrets.delete(names::HUB_KUBECONFIG_SECRET, &DeleteParams::default()).await?;
        let rebuilt = || async { process.log_end(200).contains("the files of the hub kubeconfig changed") };
        wait::poll(LIMIT, "the client is rebuilt", rebuilt).await?;

        // A report that vanishes from the hub is written anew, without any change on the spoke.
        site.reports.delete(REPORT_NAME, &DeleteParams::default()).await?;
        site.report("it is back", |r| r["nodes"]["summary"].is_string()).await?;
        Ok(())
    })
}

/// T9 on the real API server: somebody else asks in the name of a cluster's agent.
#[test]
fn s07_t9_a_forged_request_is_denied_on_the_hub() -> Result<()> {
    lab::run(async {
        let site = site("forged").await?;
        let _pod = site.install().await?;
        site.addon_says("RegistrationApplied", "True").await?;
        let key = rcgen::KeyPair::generate()?;
        let mut params = rcgen::CertificateParams::default();
        let mut name = rcgen::DistinguishedName::new();
        name.push(rcgen::DnType::OrganizationName, names::agent_cluster_group(&site.name));
        name.push(rcgen::DnType::CustomDnType(vec![2, 5, 4, 10]), names::agent_shared_group());
        name.push(rcgen::DnType::CommonName, names::agent_user(&site.name));
        params.distinguished_name = name;
        let pem = params.serialize_request(&key)?.pem()?;
        let request = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": "forged", "labels": {
                names::LABEL_ADDON_NAME: ADDON, names::LABEL_CLUSTER_NAME: site.name,
            }},
            "spec": {
                "request": base64_of(&pem), "signerName": names::KUBE_CLIENT_SIGNER,
                "usages": ["digital signature", "key encipherment", "client auth"],
            },
        });
        let requests: Api<CertificateSigningRequest> = Api::all(Lab::shared().await?.hub().client());
        requests.create(&PostParams::default(), &serde_json::from_value(request)?).await?;
        let denied = |c: &CertificateSigningRequest| {
            let conditions = c.status.as_ref().and_then(|s| s.conditions.as_ref());
            conditions
                .into_iter()
                .flatten()
                .any(|c| c.type_ == "Denied" && c.reason.as_deref() == Some("WrongRequester"))
        };
        wait::until(&requests, "forged", LIMIT, "it is denied", denied).await?;
        Ok(())
    })
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// T8: OCM accepts our hashes: a configuration reaches the work and the add-on is done.
#[test]
fn s07_t8_a_configuration_is_rolled_out() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let site = site("config").await?;
        let _pod = site.install().await?;
        site.addon_says("ManifestApplied", "True").await?;
        let config = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "agent", "namespace": site.name},
            "spec": {"customizedVariables": [{"name": "LOG", "value": "addon_agent=debug,<&>"}]},
        });
        apply::all(&lab.hub().client(), vec![apply::object(config)?]).await?;
        let configs = json!({"spec": {"configs": [{
            "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
            "namespace": site.name, "name": "agent",
        }]}});
        site.addons.patch(ADDON, &PatchParams::default(), &Patch::Merge(configs)).await?;
        let applied =
            |w: &ManifestWork| serde_json::to_string(w).is_ok_and(|t| t.contains("addon_agent=debug,<&>"));
        wait::until(&site.works, "addon-ocloud-deploy-0", LIMIT, "it has the variable", applied).await?;
        let done = |a: &ManagedClusterAddOn| {
            let references = a.status.iter().flat_map(|s| &s.config_references);
            let same = |r: &manifests::ocm::addon::ConfigReference| {
                r.desired_config == r.last_applied_config
                    && r.desired_config.as_ref().is_some_and(|d| d.spec_hash.len() == 64)
            };
            a.status.as_ref().is_some_and(|s| !s.config_references.is_empty())
                && references.clone().all(same)
                && has_condition(a, "Progressing", "False")
                && has_condition(a, "Configured", "True")
        };
        wait::until(&site.addons, ADDON, LIMIT, "OCM says that the configuration is applied", done).await?;
        let kinds: Api<ClusterManagementAddOn> = Api::all(lab.hub().client());
        ensure!(kinds.get(ADDON).await?.spec.supported_configs.len() == 1, "the add-on supports one kind");
        Ok(())
    })
}
