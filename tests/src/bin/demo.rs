//! `cargo demo`: a Git-style folder of CRs becomes a cluster, on a real hub and a real spoke.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use kube::Api;
use kube::api::DynamicObject;
use tests::lab::{self, Lab, product, progress, tools::Tool, wait};
use tests::scene::{self, Options, SAMPLES, Sample, Scene};
use tests::sim;

/// Everything after the installation must be there within this time.
const AFTERWARDS: Duration = Duration::from_secs(90);

#[derive(Parser)]
#[command(
    about = "Brings two clusters from their ProvisioningRequests to fulfilled on a lab of real components"
)]
struct Arguments {
    /// Tear the lab down at the end, and exit 0 only if all went well.
    #[arg(long)]
    exit: bool,
    /// Run the manager against this existing hub instead of a lab; needs the CRDs and rights of the chart there.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// How long the request may take.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    limit: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.kubeconfig {
        Some(file) => lab::run(existing(file.clone())),
        None => lab::run(demo(arguments)),
    }
}

/// The manager in the foreground, as the user of the kubeconfig.
async fn existing(kubeconfig: PathBuf) -> Result<()> {
    let programs = product::programs(product::Profile::Dev).await?;
    progress::line(&format!("addon-manager on {} (Ctrl-C ends it)", kubeconfig.display()));
    let status = tokio::process::Command::new(programs.manager)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--health-address", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .status()
        .await?;
    ensure!(status.success(), "addon-manager ended with {status}");
    Ok(())
}

async fn demo(arguments: Arguments) -> Result<()> {
    let all = Instant::now();
    let built = product::programs(product::Profile::Dev);
    let (lab, built) = tokio::join!(Lab::shared(), built);
    let lab = lab?;
    built?;
    progress::line(&format!("hub ready after {}", progress::human(all.elapsed())));

    // The servers of the cluster-to-be start while the hub works: hardware stands there before anybody asks for it.
    let spokes = tokio::spawn(async move {
        let [single, multi] = SAMPLES.map(|sample| lab.spoke(sample.cluster));
        let (single, multi) = tokio::join!(single, multi);
        single.and(multi).map(drop)
    });
    let options = Options {
        metal3: sim::metal3::Options { times: sim::metal3::Times::visible(), ..Default::default() },
        siteconfig: sim::siteconfig::Options {
            times: sim::siteconfig::Times::visible(),
            ..Default::default()
        },
        policy: sim::policy::Options { times: sim::policy::Times::visible(), ..Default::default() },
        ..Options::default()
    };
    let scene = Box::leak(Box::new(Scene::start(lab, options).await?));
    progress::line(&format!("addon-manager ready after {}", progress::human(all.elapsed())));
    spokes.await??;

    for folder in ["clustertemplates", "policytemplates", "provisioningrequests"] {
        scene.apply(folder).await.with_context(|| format!("applying {}", scene::data(folder).display()))?;
        progress::line(&format!("applied {}", scene::data(folder).display()));
    }
    let started = Instant::now();
    let limit = Duration::from_secs(arguments.limit);
    let [single, multi] = SAMPLES.map(|sample| cluster(scene, sample, limit));
    let (single, multi) = tokio::join!(single, multi);
    let outcome = single.and(multi);
    progress::line(&format!("both clusters after {}", progress::human(started.elapsed())));
    tables(lab).await?;
    outcome?;
    progress::line(&format!("all of it took {}", progress::human(all.elapsed())));
    if arguments.exit {
        return Ok(());
    }
    println!("\nThe lab stays up until Ctrl-C. In another terminal:");
    println!("  export KUBECONFIG={}", lab.hub().admin_kubeconfig().display());
    println!("  {} get provisioningrequests", lab.base().tools().path(Tool::Kubectl)?.display());
    for sample in SAMPLES {
        let spoke = lab.spoke(sample.cluster).await?;
        println!("The spoke {}: KUBECONFIG={}", sample.cluster, spoke.admin_kubeconfig().display());
    }
    println!("Logs: {}", lab.base().dir().join("logs").display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn cluster(scene: &Scene, sample: Sample, limit: Duration) -> Result<()> {
    scene::follow(&scene.client(), sample.request, sample.cluster, limit).await?;
    agent_reports(scene, sample.cluster).await
}

/// The add-on is available and the agent has reported the cluster's version.
async fn agent_reports(scene: &Scene, cluster: &str) -> Result<()> {
    let started = Instant::now();
    let kind = lab::dynamic(
        "addon.open-cluster-management.io/v1alpha1",
        "ManagedClusterAddOn",
        "managedclusteraddons",
    );
    let addons: Api<DynamicObject> = Api::namespaced_with(scene.client(), cluster, &kind);
    let reports: Api<manifests::addon::SpokeReport> = Api::namespaced(scene.client(), cluster);
    wait::until(
        &reports,
        manifests::addon::REPORT_NAME,
        AFTERWARDS,
        "a report with the cluster's version",
        |report| report.status.as_ref().is_some_and(|s| s.cluster_version.is_some()),
    )
    .await?;
    progress::line(&format!("{cluster}: the agent reports after {}", progress::human(started.elapsed())));
    wait::condition(&addons, "ocloud", AFTERWARDS, "Available", "True").await?;
    progress::line(&format!("{cluster}: add-on Available after {}", progress::human(started.elapsed())));
    Ok(())
}

async fn tables(lab: &Lab) -> Result<()> {
    for (title, arguments) in [
        ("Templates", vec!["clustertemplates", "-A"]),
        ("Requests", vec!["provisioningrequests"]),
        ("Allocations", vec!["nodeallocationrequests,allocatednodes", "-A"]),
        ("Hosts", vec!["baremetalhosts", "-A"]),
        ("Clusters", vec!["managedclusters"]),
        ("Add-ons", vec!["managedclusteraddons", "-A"]),
        ("Reports", vec!["spokereports", "-A"]),
    ] {
        println!("\n{title}");
        kubectl(lab, &arguments).await?;
    }
    Ok(())
}

async fn kubectl(lab: &Lab, arguments: &[&str]) -> Result<()> {
    let program: &Path = lab.base().tools().path(Tool::Kubectl)?;
    let output = tokio::process::Command::new(program)
        .arg("--kubeconfig")
        .arg(lab.hub().admin_kubeconfig())
        .arg("get")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .with_context(|| format!("running {}", program.display()))?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        bail!("kubectl get {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
