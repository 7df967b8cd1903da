//! A fleet at rest causes no write, also right after a restart of the manager (DESIGN sections 1 and 9).

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use manifests::ocm::names::ADDON;
use tests::lab::wait::{self, has_condition};
use tests::scene::Scene;
use tests::scene::fixture::Fixture;

use crate::kit::{self, Case, LIMIT, list, note};

const REST: Duration = Duration::from_secs(20);

/// No write in front of `REST` from now, and none since `mark`.
async fn is_quiet(scene: &Scene, mark: tests::lab::audit::Mark, when: &str) -> Result<()> {
    tokio::time::sleep(REST).await;
    let writes = kit::writes(scene, mark).await?;
    ensure!(writes.is_empty(), "{} writes {when}:\n{}", writes.len(), list(&writes));
    Ok(())
}

#[test]
fn nothing_is_written_at_rest_nor_after_a_restart() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("rest-sno")).await?;
        case.ask().await?;
        case.fulfilled().await?;
        // Until the add-on is settled, the cluster is not at rest.
        wait::until(&case.addons(), ADDON, LIMIT, "it is settled", |a| {
            has_condition(a, "Available", "True")
                && has_condition(a, "Progressing", "False")
                && has_condition(a, "Degraded", "False")
        })
        .await?;

        is_quiet(scene, kit::mark(scene).await?, "at rest").await?;

        // The new process waits until the lease of the dead one has run out, as in a real restart.
        let mark = kit::mark(scene).await?;
        scene.kill_manager().await?;
        let begin = Instant::now();
        scene.start_manager(true).await?;
        note(&format!("the restarted manager leads after {:.1} s", begin.elapsed().as_secs_f64()));
        is_quiet(scene, mark, "after a restart").await?;
        case.end().await
    })
}
