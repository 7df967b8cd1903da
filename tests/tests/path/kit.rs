//! What the tests of this binary share: the stage, and what the audit log says about the manager.

use anyhow::{Result, ensure};
use tests::lab;
use tests::lab::audit::{Mark, Write};
use tests::scene::Scene;
pub(crate) use tests::scene::case::{Case, LIMIT, condition, details, merge, phase, strip};
use tokio::sync::RwLock;

/// Tests that count the manager's writes or kill it are alone on the stage.
static STAGE: RwLock<()> = RwLock::const_new(());

/// Runs a test that other tests may run beside. At its end no request of the manager was refused for want of rights.
pub(crate) fn beside<F: Future<Output = Result<()>>>(test: impl FnOnce(&'static Scene) -> F) -> Result<()> {
    lab::run(async {
        let scene = Scene::shared().await?;
        let _guard = STAGE.read().await;
        run(scene, test(scene)).await
    })
}

/// Runs a test that no other may run beside; else as [`beside`].
pub(crate) fn alone<F: Future<Output = Result<()>>>(test: impl FnOnce(&'static Scene) -> F) -> Result<()> {
    lab::run(async {
        let scene = Scene::shared().await?;
        let _guard = STAGE.write().await;
        run(scene, test(scene)).await
    })
}

async fn run(scene: &'static Scene, test: impl Future<Output = Result<()>>) -> Result<()> {
    let mark = mark(scene).await?;
    test.await?;
    not_refused(scene, mark).await
}

/// The present end of the hub's audit log.
pub(crate) async fn mark(scene: &Scene) -> Result<Mark> {
    scene.lab().hub().audit().mark().await
}

/// No request of the manager since `mark` was answered 403.
pub(crate) async fn not_refused(scene: &Scene, mark: Mark) -> Result<()> {
    let refused = scene.lab().hub().audit().answered(&scene.manager().user(), 403, mark).await?;
    ensure!(refused.is_empty(), "the manager was refused:\n{}", list(&refused));
    Ok(())
}

/// The manager's writes since `mark`.
pub(crate) async fn writes(scene: &Scene, mark: Mark) -> Result<Vec<Write>> {
    scene.lab().hub().audit().writes_of(&scene.manager().user(), mark).await
}

/// One per line.
pub(crate) fn list(writes: &[Write]) -> String {
    writes.iter().map(|w| format!("  {w}")).collect::<Vec<_>>().join("\n")
}

/// Prints a step of a test with the time that it took.
pub(crate) fn note(text: &str) {
    lab::progress::line(text);
}
