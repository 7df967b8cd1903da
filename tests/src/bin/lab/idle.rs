//! `cargo lab -- idle`: a fleet at rest writes nothing (DESIGN sections 1 and 9).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use kube::Api;
use manifests::ocm::ManagedClusterAddOn;
use manifests::ocm::names::ADDON;
use tests::lab::audit::Write;
use tests::lab::product::{ManagerOptions, Profile};
use tests::lab::supervisor::Proc;
use tests::lab::wait::{self, has_condition};
use tests::lab::{Lab, progress};
use tests::scene::{self, Options, SAMPLES, Scene};

#[derive(Args)]
pub(crate) struct Arguments {
    /// How long to look.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// The manager as it is shipped, built with optimisation.
    #[arg(long)]
    release: bool,
}

/// Everything before the rest must be over within this time.
const LIMIT: Duration = Duration::from_mins(3);

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let profile = if arguments.release { Profile::Release } else { Profile::Dev };
    let lab = Lab::shared().await?;
    let options =
        Options { manager: ManagerOptions { profile, ..ManagerOptions::default() }, ..Options::default() };
    let scene = Box::leak(Box::new(Scene::start(lab, options).await?));
    for sample in SAMPLES {
        scene.expect(sample.cluster);
    }
    for folder in ["clustertemplates", "policytemplates", "provisioningrequests"] {
        scene.apply(folder).await.with_context(|| format!("applying {}", scene::data(folder).display()))?;
    }
    for sample in SAMPLES {
        scene::follow(&scene.client(), sample.request, sample.cluster, LIMIT).await?;
        let addons: Api<ManagedClusterAddOn> = Api::namespaced(scene.client(), sample.cluster);
        wait::until(&addons, ADDON, LIMIT, "it is settled", |a| {
            [("Available", "True"), ("Progressing", "False"), ("Degraded", "False")]
                .iter()
                .all(|(type_, status)| has_condition(a, type_, status))
        })
        .await?;
        progress::line(&format!("{}: add-on settled", sample.cluster));
    }

    let mut watched = vec![("manager".to_owned(), scene.manager().process().clone())];
    for sample in SAMPLES {
        let agent = scene.agent(sample.cluster).context("the agent runs")?;
        watched.push((format!("agent of {}", sample.cluster), agent.until_running(LIMIT).await?));
    }
    let audit = lab.hub().audit();
    let mark = audit.mark().await?;
    let before: Vec<Usage> = watched.iter().map(|(_, p)| Usage::of(p)).collect::<Result<_>>()?;
    let begin = Instant::now();
    progress::line(&format!("looking for {} s", arguments.seconds));
    tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
    let elapsed = begin.elapsed();
    let writes = audit.writes_of(&scene.manager().user(), mark).await?;

    println!("\n{} clusters at rest for {:.1} s", SAMPLES.len(), elapsed.as_secs_f64());
    println!("{:<24} {:>10} {:>12} {:>12}", "PROCESS", "CPU (s)", "% OF A CORE", "MEMORY (MB)");
    for ((name, process), before) in watched.iter().zip(before) {
        let now = Usage::of(process)?;
        let seconds = now.seconds - before.seconds;
        let share = 100.0 * seconds / elapsed.as_secs_f64();
        println!("{name:<24} {seconds:>10.2} {share:>12.2} {:>12.1}", now.megabytes);
    }
    println!("\n{:<8} {:<8} {:<40} OBJECT", "WRITES", "VERB", "RESOURCE");
    for ((verb, resource, object), count) in grouped(&writes) {
        println!("{count:<8} {verb:<8} {resource:<40} {object}");
    }
    println!("{} writes of the manager, without its lease and reviews", writes.len());
    ensure!(writes.is_empty(), "{} writes at rest", writes.len());
    Ok(())
}

fn grouped(writes: &[Write]) -> BTreeMap<(&str, String, String), usize> {
    let mut counts = BTreeMap::new();
    for write in writes {
        let slash = if write.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{}{slash}{}", write.resource, write.subresource);
        let object = format!("{}/{}", write.namespace, write.name);
        *counts.entry((write.verb.as_str(), resource, object)).or_default() += 1;
    }
    counts
}

/// What a process has used so far.
struct Usage {
    seconds: f64,
    megabytes: f64,
}

impl Usage {
    /// From `/proc`: clock ticks are hundredths of a second, memory is in KiB.
    fn of(process: &Proc) -> Result<Self> {
        let pid = process.pid();
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{pid}/{file}"))
                .with_context(|| format!("{} of {}", file, process.name()))
        };
        let stat = read("stat")?;
        // The second field is a name that may contain blanks.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or_default();
        let status = read("status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kib = resident.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap_or_default();
        Ok(Usage { seconds: (ticks(11) + ticks(12)) / 100.0, megabytes: kib / 1024.0 })
    }
}
