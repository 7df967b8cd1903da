//! `cargo lab -- chaos`: the manager is killed at random moments of a request's life, from its creation to its end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use kube::api::DeleteParams;
use manifests::clcm::ProvisioningRequest;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tests::lab::{Lab, progress, wait};
use tests::scene::case::{Case, LIMIT};
use tests::scene::fixture::{Fixture, Layout};
use tests::scene::{Options, Scene, check};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of runs, each with one cluster.
    #[arg(long, default_value_t = 3, value_name = "N")]
    seeds: u64,
    /// Seed of the first run; the others follow.
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    first: u64,
}

/// What happens in one run; it follows from the seed alone.
struct Plan {
    fixture: Fixture,
    /// Pauses after which the manager is killed, one after the other, from the creation of the request.
    kills: Vec<Duration>,
    /// The same from the deletion of the request.
    kills_of_deletion: Vec<Duration>,
    /// How long the manager stays away each time.
    away: Duration,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let cluster = format!("chaos-{seed}");
        let fixture =
            if random.random_ratio(1, 3) { Fixture::multi(&cluster) } else { Fixture::single(&cluster) };
        let layout = if random.random_ratio(1, 2) { Layout::Nodes } else { Layout::NodeGroups };
        // Most of the steps follow each other within the first second, so half of the kills come then.
        let mut pauses = |most: usize, longest: u64| -> Vec<Duration> {
            let count = random.random_range(1..=most);
            (0..count)
                .map(|_| {
                    let longest = if random.random_ratio(1, 2) { 800 } else { longest };
                    Duration::from_millis(random.random_range(0..longest))
                })
                .collect()
        };
        let (kills, kills_of_deletion) = (pauses(4, 6000), pauses(2, 3000));
        let away = Duration::from_millis(random.random_range(0..1500));
        Plan { fixture: fixture.layout(layout).spare(2), kills, kills_of_deletion, away }
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let lab = Lab::shared().await?;
    let scene: &'static Scene = Box::leak(Box::new(Scene::start(lab, Options::default()).await?));
    let mut rows = Vec::new();
    let mut bad = 0;
    for seed in arguments.first..arguments.first.saturating_add(arguments.seeds) {
        let plan = Plan::of(seed);
        let shape = format!("{}+{} {:?}", plan.fixture.masters, plan.fixture.workers, plan.fixture.layout);
        let kills = [&plan.kills, &plan.kills_of_deletion].map(|list| {
            list.iter().map(|pause| format!("{:.1}", pause.as_secs_f64())).collect::<Vec<_>>().join(" ")
        });
        let begin = Instant::now();
        let result = one(scene, plan).await;
        let word = match &result {
            Ok(()) => "fine".to_owned(),
            Err(error) => {
                bad += 1;
                progress::line(&format!("seed {seed}: {error:#}"));
                tests::lab::keep(&format!("seed {seed}: {error:#}"));
                "FAILED".to_owned()
            }
        };
        let took = begin.elapsed().as_secs_f64();
        let row = format!("{seed:<6} {shape:<16} {:<24} {:<16} {took:>8.1}  {word}", kills[0], kills[1]);
        progress::line(&row);
        rows.push(row);
        if result.is_err() {
            // The next run needs a manager.
            let _ = scene.kill_manager().await;
            scene.start_manager(false).await?;
        }
    }
    println!(
        "\n{:<6} {:<16} {:<24} {:<16} {:>8}  RESULT",
        "SEED", "NODES", "KILLED AFTER (s)", "IN DELETION (s)", "TOOK (s)"
    );
    for row in &rows {
        println!("{row}");
    }
    ensure!(bad == 0, "{bad} of {} runs failed", rows.len());
    Ok(())
}

async fn one(scene: &'static Scene, plan: Plan) -> Result<()> {
    let case = Case::new(scene, plan.fixture).await?;
    case.ask().await?;
    for pause in plan.kills {
        kill(scene, pause, plan.away).await?;
    }
    let request: ProvisioningRequest = case.fulfilled().await?;
    check::whole(&case, &request).await?;
    case.requests().delete(&case.name(), &DeleteParams::default()).await?;
    for pause in plan.kills_of_deletion {
        kill(scene, pause, plan.away).await?;
    }
    wait::gone(&case.requests(), &case.name(), LIMIT).await?;
    check::gone(&case).await?;
    scene.retire(case.cluster()).await
}

async fn kill(scene: &Scene, pause: Duration, away: Duration) -> Result<()> {
    tokio::time::sleep(pause).await;
    scene.kill_manager().await?;
    tokio::time::sleep(away).await;
    scene.start_manager(false).await
}
