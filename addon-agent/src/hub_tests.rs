use super::*;
use std::path::PathBuf;

use clap::Parser;

/// A hub kubeconfig as the registration agent writes it: relative paths, the namespace `configuration`, a key in the
/// form `EC PRIVATE KEY`. The key guards nothing.
const FILES: [&str; 4] = ["kubeconfig", "cluster-name", "tls.crt", "tls.key"];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hub")
}

fn config(directory: &Path) -> Config {
    Config::parse_from(["addon-agent", "--hub-directory", &directory.display().to_string()])
}

fn copy(to: &Path) {
    for name in FILES {
        std::fs::copy(fixture().join(name), to.join(name)).unwrap();
    }
}

#[tokio::test]
async fn the_key_of_the_registration_agent_is_understood() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    connect(&config(&fixture())).await.unwrap();
}

#[test]
fn files_are_complete_or_nothing_and_changes_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(look(dir.path()), None);
    copy(dir.path());
    let first = look(dir.path()).unwrap();
    assert_eq!(first.cluster, "spoke1");
    assert_eq!(look(dir.path()), Some(first.clone()));
    std::fs::write(dir.path().join("tls.crt"), "rotated").unwrap();
    assert_ne!(look(dir.path()), Some(first.clone()));
    copy(dir.path());
    std::fs::write(dir.path().join("token"), "the client reads that by itself").unwrap();
    assert_eq!(look(dir.path()), Some(first));
    std::fs::write(dir.path().join("cluster-name"), "\n").unwrap();
    assert_eq!(look(dir.path()), None);
    std::fs::remove_file(dir.path().join("cluster-name")).unwrap();
    assert_eq!(look(dir.path()), None);
}

#[tokio::test]
async fn a_broken_kubeconfig_is_told_without_its_content() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    copy(dir.path());
    std::fs::write(
        dir.path().join("tls.key"),
        "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n",
    )
    .unwrap();
    let error = format!("{:#}", connect(&config(dir.path())).await.err().unwrap());
    assert!(!error.contains("c2VjcmV0") && !error.contains("secret"), "{error}");
    std::fs::remove_file(dir.path().join("tls.key")).unwrap();
    assert!(connect(&config(dir.path())).await.is_err());
}

#[test]
fn pauses_grow_and_end() {
    for (failures, least) in [(1, 1), (2, 2), (3, 4), (7, 60), (1000, 60)] {
        let pause = backoff(failures);
        let least = Duration::from_secs(least);
        assert!(pause >= least && pause <= least.mul_f64(1.5), "{failures}: {pause:?}");
    }
}
