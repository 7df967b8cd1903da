//! The lab itself: hub and spoke start, the spoke joins under the klusterlet's real rights, work arrives, a pod's
//! program runs, and nothing survives.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::lab::pod::{Pod, PodOptions};
use tests::lab::supervisor::group_members;
use tests::lab::{self, Lab, apply, wait};

const LIMIT: Duration = Duration::from_secs(30);

fn print(step: &str, time: Duration) {
    lab::progress::line(&format!("{:>8.2} s  {step}", time.as_secs_f64()));
}

fn works(lab: &Lab, cluster: &str) -> Api<DynamicObject> {
    let kind = lab::dynamic("work.open-cluster-management.io/v1", "ManifestWork", "manifestworks");
    Api::namespaced_with(lab.hub().client(), cluster, &kind)
}

async fn send(lab: &Lab, cluster: &str, name: &str, manifests: Value) -> Result<Api<DynamicObject>> {
    let works = works(lab, cluster);
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": name, "namespace": cluster},
        "spec": {"workload": {"manifests": manifests}},
    });
    works.patch(name, &PatchParams::apply("lab"), &Patch::Apply(work)).await?;
    Ok(works)
}

#[test]
fn a_spoke_joins_and_gets_work() -> Result<()> {
    lab::run(async {
        let all = Instant::now();
        let lab = Lab::shared().await?;
        print("etcd, hub and OCM's controllers", all.elapsed());
        print("  of this, until the hub's API server was ready", lab.hub().start_time());
        let begin = Instant::now();
        let spoke = lab.spoke("join").await?;
        print("spoke: API server, CRDs, the klusterlet's rights", begin.elapsed());
        let begin = Instant::now();
        let join = spoke.join(lab.hub(), "edge-1").await?;
        print("  accepted by the hub", join.accepted);
        spoke.until_available(lab.hub(), LIMIT).await?;
        print("joined and available", begin.elapsed());

        let mark = lab.hub().audit().mark().await?;
        let begin = Instant::now();
        let manifests = json!([
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "greeting"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting", "namespace": "greeting"}, "data": {"text": "hello"}},
        ]);
        let works = send(lab, "edge-1", "greeting", manifests).await?;
        wait::condition(&works, "greeting", LIMIT, "Applied", "True").await?;
        wait::condition(&works, "greeting", LIMIT, "Available", "True").await?;
        print("ManifestWork applied and reported", begin.elapsed());
        print("from nothing to work on the spoke", all.elapsed());
        let map = Api::<ConfigMap>::namespaced(spoke.client(), "greeting").get("greeting").await?;
        ensure!(
            map.data.unwrap_or_default().get("text").is_some_and(|text| text == "hello"),
            "the text arrived"
        );

        let writes = lab.hub().audit().writes_since(mark).await?;
        let users = lab::audit::per_user(&writes);
        ensure!(users.contains_key("admin"), "the test's own write: {users:?}");
        let agent = users.keys().any(|user| user.starts_with("system:open-cluster-management:edge-1:"));
        ensure!(agent, "the agent reports under its own name: {users:?}");
        Ok(())
    })
}

/// spec/07 section 1.8: what the work agent may not do by itself, it may after a role with OCM's aggregation label.
#[test]
fn the_work_agent_has_the_rights_of_a_klusterlet_and_no_others() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let spoke = lab.joined_spoke("rights").await?;
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "clusterversions.config.openshift.io"},
            "spec": {"group": "config.openshift.io", "scope": "Cluster",
                "names": {"kind": "ClusterVersion", "plural": "clusterversions", "singular": "clusterversion", "listKind": "ClusterVersionList"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        });
        apply::crds(&spoke.client(), vec![apply::object(crd)?]).await?;
        let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"channel": "stable"}});
        let works = send(lab, "rights", "version", json!([version])).await?;
        let refused = wait::condition(&works, "version", LIMIT, "Applied", "False").await?;
        let text = refused.data.to_string();
        ensure!(text.contains("klusterlet-work-sa") && text.contains("is forbidden"), "{text}");

        let begin = Instant::now();
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "lab:versions", "labels": {"open-cluster-management.io/aggregate-to-work": "true"}},
            "rules": [{"apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}],
        });
        let works = send(lab, "rights", "version", json!([role, version])).await?;
        wait::condition(&works, "version", LIMIT, "Available", "True").await?;
        print("refused work applied after its role came", begin.elapsed());
        Ok(())
    })
}

/// The lab runs what a kubelet would run, with the files of the pod's Secret.
#[test]
fn a_deployment_runs_as_a_process() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let spoke = lab.spoke("pods").await?;
        let namespace = "default";
        let deployment = |text: &str| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "talker", "namespace": namespace}, "spec": {
                "selector": {"matchLabels": {"app": "talker"}},
                "template": {"metadata": {"labels": {"app": "talker"}}, "spec": {
                    "serviceAccountName": "talker",
                    "volumes": [{"name": "hub", "secret": {"secretName": "talker"}}],
                    "containers": [{"name": "talker", "image": "none",
                        "args": ["-c", format!("echo {text} $(cat /var/hub/word) in $POD_NAMESPACE; grep -q token $KUBECONFIG && sleep 1000")],
                        "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
                        "volumeMounts": [{"name": "hub", "mountPath": "/var/hub", "readOnly": true}]}],
                }},
            }})
        };
        let client = spoke.client();
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "talker", "namespace": namespace}});
        apply::all(&client, vec![apply::object(account)?, apply::object(deployment("says"))?]).await?;
        let options = PodOptions {
            namespace: namespace.to_owned(),
            deployment: "talker".to_owned(),
            program: "/bin/sh".into(),
            environment: BTreeMap::new(),
            arguments: Vec::new(),
        };
        let pod = Pod::follow(lab.base(), spoke.clone(), options)?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        ensure!(pod.process().is_none(), "it must wait for its secret");
        let secret = |word: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "talker", "namespace": namespace}, "stringData": {"word": word}});
        apply::all(&client, vec![apply::object(secret("hello"))?]).await?;
        let first = pod.until_running(LIMIT).await?;
        wait::poll(LIMIT, "it speaks", || async { first.log_end(1) == "says hello in default" }).await?;
        let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
            Api::namespaced(client.clone(), namespace);
        let is_ready = |it: &k8s_openapi::api::apps::v1::Deployment| {
            it.status.as_ref().is_some_and(|it| it.ready_replicas == Some(1))
        };
        wait::until(&deployments, "talker", LIMIT, "one replica is ready", is_ready).await?;

        // A crash starts it again, with the present content of the secret.
        apply::all(&client, vec![apply::object(secret("goodbye"))?]).await?;
        let word = spoke.dir().join("pods/talker/hub/word");
        wait::poll(LIMIT, "the file changes", || async {
            std::fs::read_to_string(&word).is_ok_and(|word| word == "goodbye")
        })
        .await?;
        first.kill().await?;
        wait::poll(LIMIT, "it speaks again", || async { first.log_end(1) == "says goodbye in default" })
            .await?;

        // A new template means a new process; a deleted Deployment none.
        apply::all(&client, vec![apply::object(deployment("shouts"))?]).await?;
        wait::poll(LIMIT, "it shouts", || async { first.log_end(1) == "shouts goodbye in default" }).await?;
        deployments.delete("talker", &DeleteParams::default()).await?;
        wait::poll(LIMIT, "its process is gone", || async { pod.process().is_none() }).await
    })
}

/// Rights come from the plain files of a chart, and a token of the account found there has those and no others.
#[test]
fn rights_of_a_chart_apply_to_a_token_of_its_account() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let chart = tempfile::tempdir()?;
        std::fs::write(
            chart.path().join("templated.yaml"),
            "kind: ClusterRole\nmetadata: {name: {{ .Values.x }}}\n",
        )?;
        std::fs::write(
            chart.path().join("rights.yaml"),
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader, namespace: chart-test}\n\
             rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]\n---\n\
             apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reader, namespace: chart-test}\n\
             roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\n\
             subjects: [{kind: ServiceAccount, name: reader, namespace: chart-test}]\n---\n\
             apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: reader, namespace: chart-test}\n",
        )?;
        let (namespace, account) = lab.hub().install_rights(chart.path()).await?;
        let client = lab.hub().access_as(&namespace, &account).await?.client().await?;
        Api::<ConfigMap>::namespaced(client.clone(), "chart-test").list(&ListParams::default()).await?;
        let refused = Api::<ConfigMap>::namespaced(client, "default").list(&ListParams::default()).await;
        ensure!(
            matches!(refused, Err(kube::Error::Api(status)) if status.code == 403),
            "only what the chart gives"
        );
        Ok(())
    })
}

/// A whole lab in a process of its own ends with that process, even by `kill -9`.
#[test]
fn nothing_of_a_lab_survives_kill_9() -> Result<()> {
    let parent = tempfile::tempdir()?;
    let mut lab = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["up", "--spokes", "0"])
        .env("OCLOUD_LAB_DIR", parent.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut group = None;
    for line in BufReader::new(lab.stdout.take().context("piped")?).lines() {
        if let Some(number) = line?.strip_prefix("process group: ") {
            group = Some(number.parse::<u32>()?);
            break;
        }
    }
    let group = group.context("the lab did not start")?;
    let members = group_members(group).len();
    ensure!(members >= 7, "supervisor, etcd, API server, controllers: {members}");
    lab.kill()?;
    lab.wait()?;
    let begin = Instant::now();
    while !group_members(group).is_empty() {
        ensure!(begin.elapsed() < Duration::from_secs(20), "left over: {:?}", group_members(group));
        std::thread::sleep(Duration::from_millis(20));
    }
    print(
        &format!("until {members} processes had ended after kill -9 of the lab's process"),
        begin.elapsed(),
    );
    ensure!(is_empty(parent.path())?, "the lab's directory is removed");
    Ok(())
}

fn is_empty(dir: &Path) -> Result<bool> {
    Ok(std::fs::read_dir(dir)?.next().is_none())
}
