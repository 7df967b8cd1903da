//! The lab itself: hub and spoke start, the spoke joins under the klusterlet's real rights, work arrives.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use tests::lab::supervisor::group_members;
use tests::lab::{self, Lab, Spoke, wait};

/// A step's name and how long it took, for the table at the end.
#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    fn note(&mut self, step: &'static str, since: Instant) {
        self.0.push((step, since.elapsed()));
    }

    fn print(&self) {
        for (step, time) in &self.0 {
            lab::progress::line(&format!("{:>8.2} s  {step}", time.as_secs_f64()));
        }
    }
}

fn works(lab: &Lab, cluster: &str) -> Api<DynamicObject> {
    let kind = lab::dynamic(
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        "manifestworks",
    );
    Api::namespaced_with(lab.hub().client(), cluster, &kind)
}

/// Sends one ConfigMap to the spoke, and returns when it is there and the hub knows it.
async fn send_config_map(lab: &Lab, spoke: &Spoke, cluster: &str) -> Result<()> {
    let works = works(lab, cluster);
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "greeting", "namespace": cluster},
        "spec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "greeting"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting", "namespace": "greeting"}, "data": {"text": "hello"}},
        ]}},
    });
    works
        .patch("greeting", &PatchParams::apply("lab"), &Patch::Apply(work))
        .await?;
    let limit = Duration::from_secs(20);
    wait::condition(&works, "greeting", limit, "Applied", "True").await?;
    wait::condition(&works, "greeting", limit, "Available", "True").await?;
    let maps: Api<ConfigMap> = Api::namespaced(spoke.client(), "greeting");
    let map = maps.get("greeting").await?;
    ensure!(
        map.data
            .unwrap_or_default()
            .get("text")
            .is_some_and(|text| text == "hello"),
        "the text arrived"
    );
    Ok(())
}

#[test]
fn a_spoke_joins_and_gets_work() -> Result<()> {
    lab::run(async {
        let mut times = Times::default();
        let all = Instant::now();
        // A lab of its own, to see its end.
        let begin = Instant::now();
        let lab = Lab::start().await?;
        times.note("etcd, hub and OCM's controllers", begin);
        lab::progress::line(&format!(
            "hub API server ready after {:?}",
            lab.hub().start_time()
        ));
        let begin = Instant::now();
        let spoke = lab.spoke("spoke1").await?;
        times.note("spoke: API server, CRDs, the klusterlet's rights", begin);
        let begin = Instant::now();
        let join = spoke.join(lab.hub(), "edge-1").await?;
        lab::progress::line(&format!("joining: {join:?}"));
        spoke.until_available(lab.hub(), Duration::from_secs(60)).await?;
        times.note("joined and available", begin);
        let mark = lab.hub().audit().mark().await?;
        let begin = Instant::now();
        send_config_map(&lab, &spoke, "edge-1").await?;
        times.note("ManifestWork applied and reported", begin);
        times.note("from nothing to work on the spoke", all);

        let begin = Instant::now();
        let writes = lab.hub().audit().writes_since(mark).await?;
        times.note("reading the audit log", begin);
        let users = lab::audit::per_user(&writes);
        ensure!(users.contains_key("admin"), "the test's own write: {users:?}");
        ensure!(
            users
                .keys()
                .any(|user| user.starts_with("system:open-cluster-management:edge-1:")),
            "the agent reports under its own name: {users:?}"
        );

        let group = lab.base().supervisor().group();
        ensure!(group_members(group).len() >= 10, "{:?}", group_members(group));
        let dir = lab.base().dir().to_owned();
        let begin = Instant::now();
        lab.stop().await?;
        times.note("end of everything", begin);
        ensure!(
            group_members(group).is_empty(),
            "left over: {:?}",
            group_members(group)
        );
        ensure!(!dir.exists(), "the directory is removed");
        times.print();
        Ok(())
    })
}
