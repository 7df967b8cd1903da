//! Simulators for what needs hardware or OpenShift itself (DESIGN section 8).
//!
//! Each is a small controller that behaves like the real one, can be told to be slow or to fail, and refuses what the
//! real one refuses. They talk to the API server only, keep their state in the objects, and write nothing when
//! nothing changes.
//!
//! ```text
//!   BareMetalHost, HostFirmware*  --> metal3      (hardware, power, provisioning, firmware)
//!   ClusterInstance               --> siteconfig  (validate, render, install, remove) --> ManagedCluster, Agents
//!   Policy in ztp-*               --> policy      (replicas in cluster namespaces, compliance)
//!   spoke API server              --> openshift   (what a fresh OpenShift cluster has)
//! ```
//!
//! Admission rules are `ValidatingAdmissionPolicies` ([`admission`]), so that the API server itself refuses. Knobs on
//! objects are annotations with prefix `sim.ocloud.dev/` ([`knobs`]).

use std::time::Duration;

use kube::Client;
use tokio_util::task::AbortOnDropHandle;

pub mod admission;
pub mod crds;
mod engine;
mod kinds;
pub mod metal3;
pub mod openshift;
pub mod policy;
pub mod profile;
pub mod siteconfig;
mod store;
mod value;

/// Annotations by which a test or a user of the demo tells the simulators what to do. A human can set them with
/// `kubectl annotate` at any moment.
pub mod knobs {
    /// BareMetalHost: name of the hardware profile, see [`super::profile`].
    pub const PROFILE: &str = "sim.ocloud.dev/profile";
    /// BareMetalHost: number of logical CPUs, instead of the profile's.
    pub const THREADS: &str = "sim.ocloud.dev/threads";
    /// BareMetalHost: comma list of NIC names, instead of the profile's.
    pub const NICS: &str = "sim.ocloud.dev/nics";
    /// BareMetalHost: name of the NIC that gets `spec.bootMACAddress`. Without it: the NIC that the label
    /// `interfacelabel.clcm.openshift.io/boot-interface` names, else the first.
    pub const BOOT_NIC: &str = "sim.ocloud.dev/boot-nic";
    /// BareMetalHost: comma list of `registration`, `inspecting`, `preparing`, `provisioning`, `servicing`, `power`:
    /// these fail.
    pub const FAIL: &str = "sim.ocloud.dev/fail";
    /// BareMetalHost: how many times they fail before they succeed; without it they fail for as long as the
    /// annotation is there.
    pub const FAIL_COUNT: &str = "sim.ocloud.dev/fail-count";
    /// BareMetalHost: `sim.ocloud.dev/delay-<state>` is how long that state lasts, such as `5s`, `300ms` or `2m`.
    pub const DELAY: &str = "sim.ocloud.dev/delay-";
    /// ClusterInstance: `complete`, `fail`, `hang` (never ends) or `hang-start` (never starts).
    pub const INSTALL: &str = "sim.ocloud.dev/install";
    /// ClusterInstance: how long the installation lasts, as in [`DELAY`].
    pub const INSTALL_TIME: &str = "sim.ocloud.dev/install-time";
    /// ClusterInstance: comma list of `render`, `dry-run`, `apply`: these steps fail.
    pub const FAIL_STEP: &str = "sim.ocloud.dev/fail-step";
    /// Root Policy: label selector of the clusters that get it, when there is no `PlacementBinding`.
    pub const CLUSTER_SELECTOR: &str = "sim.ocloud.dev/cluster-selector";
    /// Root Policy or ManagedCluster: the verdict, `Compliant`, `NonCompliant`, `Pending` or `none`.
    pub const COMPLIANCE: &str = "sim.ocloud.dev/compliance";
}

/// A running simulator; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the simulator ends when its handle is dropped"]
pub struct Handle {
    tasks: Vec<AbortOnDropHandle<()>>,
}

impl Handle {
    fn new(tasks: Vec<AbortOnDropHandle<()>>) -> Self {
        Handle { tasks }
    }

    /// Ends the simulator and waits until its tasks are gone, so that nothing is written afterwards.
    pub async fn stop(self) {
        for task in self.tasks {
            task.abort();
            let _cancelled = task.await;
        }
    }

    /// Whether all tasks still run.
    pub fn is_running(&self) -> bool {
        self.tasks.iter().all(|t| !t.is_finished())
    }
}

/// Installs on a hub what the simulators need there: the CRDs that are absent, and all admission rules; returns when the
/// API server enforces them.
///
/// # Errors
/// When the API server refuses an object, or a rule is not enforced within 30 seconds.
pub async fn prepare_hub(client: &Client) -> anyhow::Result<()> {
    crds::ensure(client, &crds::hub()?).await?;
    let mut rules = metal3::rules();
    rules.extend(siteconfig::rules());
    admission::enforce(client, &rules, Duration::from_secs(30)).await
}
