//! metal3: the bare-metal operator, without hardware and without Ironic (spec/04 sections 15 to 17, contract 17.2).
//!
//! ```text
//!   "" -> registering -> inspecting -> preparing -> available <-> provisioning -> provisioned
//!            |                            ^            |                              |
//!            '-> unmanaged                '------------'<------- deprovisioning <-----'
//!   any -> [deprovisioning ->] powering off before delete -> deleting
//! ```
//!
//! One pass looks at one host and takes at most one step; each step is one write of the status. State is in the
//! objects, only the time since when a host is in a phase is in memory, so a restart begins the phase anew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::{Client, ResourceExt};

use super::Handle;
use super::engine::{Engine, Phases, Reconcile, lock};
use super::kinds::{FIRMWARE_COMPONENTS, FIRMWARE_SETTINGS, HOST, SECRET};
use super::profile::Profile;
use super::store::{Failure, Store};
use super::value::{Key, annotation};

mod firmware;
mod inspect;
mod pass;
mod power;
mod provision;
mod register;
mod remove;
mod rules;

pub use rules::rules;

/// Field manager of the simulator.
const MANAGER: &str = "baremetal-operator";
/// Finalizer on every host.
const FINALIZER: &str = "baremetalhost.metal3.io";
/// While this annotation is there (any value), nothing is written.
const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// Label on every Secret with BMC credentials.
const ENVIRONMENT: (&str, &str) = ("environment.metal3.io", "baremetal");

/// How long things last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// A new host until `registering`.
    pub accept: Duration,
    /// `registering`
    pub register: Duration,
    /// `HostFirmwareSettings` or `HostFirmwareComponents` created or changed until their status says so.
    pub firmware: Duration,
    /// `inspecting`
    pub inspect: Duration,
    /// `preparing`
    pub prepare: Duration,
    /// `provisioning`
    pub provision: Duration,
    /// `deprovisioning` without cleaning.
    pub deprovision: Duration,
    /// Automated cleaning, in addition to `deprovision`.
    pub clean: Duration,
    /// A change of power.
    pub power: Duration,
    /// Firmware update of a provisioned host.
    pub service: Duration,
    /// Detached, attached, available to externally provisioned or back.
    pub notice: Duration,
    /// Missing BMC Secret or network data: until it looks again.
    pub look_again: Duration,
    /// First wait after an error; doubles with each further one, at most 2^8 times.
    pub retry: Duration,
}

impl Times {
    /// The column "Fast" of spec/04 17.2: a host is available about 4 s after its creation.
    pub fn visible() -> Self {
        let ms = Duration::from_millis;
        Times {
            accept: ms(200),
            register: ms(500),
            firmware: ms(300),
            inspect: ms(1000),
            prepare: ms(2000),
            provision: ms(2000),
            deprovision: ms(2000),
            clean: ms(1000),
            power: ms(300),
            service: ms(2000),
            notice: ms(300),
            look_again: ms(1000),
            retry: ms(1000),
        }
    }

    /// Ten times as fast as [`Times::visible`]: for tests.
    pub fn fast() -> Self {
        Times::visible().scaled(0.1)
    }

    /// What the real thing takes, at the lower end of the estimates.
    pub fn realistic() -> Self {
        let s = Duration::from_secs;
        Times {
            accept: s(1),
            register: s(20),
            firmware: s(30),
            inspect: s(300),
            prepare: s(300),
            provision: s(600),
            deprovision: s(120),
            clean: s(300),
            power: s(30),
            service: s(900),
            notice: s(5),
            look_again: s(10),
            retry: s(60),
        }
    }

    /// All times multiplied.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Times {
            accept: self.accept.mul_f64(factor),
            register: self.register.mul_f64(factor),
            firmware: self.firmware.mul_f64(factor),
            inspect: self.inspect.mul_f64(factor),
            prepare: self.prepare.mul_f64(factor),
            provision: self.provision.mul_f64(factor),
            deprovision: self.deprovision.mul_f64(factor),
            clean: self.clean.mul_f64(factor),
            power: self.power.mul_f64(factor),
            service: self.service.mul_f64(factor),
            notice: self.notice.mul_f64(factor),
            look_again: self.look_again.mul_f64(factor),
            retry: self.retry.mul_f64(factor),
        }
    }
}

/// What can be chosen; single hosts are told by annotation ([`super::knobs`]).
#[derive(Debug, Clone)]
pub struct Options {
    /// How long things last, unless a host's annotation says otherwise.
    pub times: Times,
    /// Hardware profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Firmware file URL to the version that a component has once it is flashed; for other URLs the version is the
    /// last dotted number in the file name.
    pub firmware: BTreeMap<String, String>,
    /// How many hosts are worked on at once.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { times: Times::fast(), profiles: Profile::built_in(), firmware: BTreeMap::new(), workers: 4 }
    }
}

/// The simulator.
#[derive(Debug)]
pub struct Metal3;

impl Metal3 {
    /// Starts it for all namespaces. The metal3 CRDs may be installed before or after.
    pub fn start(client: &Client, options: Options) -> Handle {
        let mut engine = Engine::new();
        let workers = options.workers;
        let simulator = Arc::new(Simulator {
            store: Store::new(client.clone(), MANAGER),
            options,
            phases: Phases::default(),
            failures: Mutex::default(),
        });
        let same_name =
            |o: &kube::core::DynamicObject| vec![(o.namespace().unwrap_or_default(), o.name_any())];
        for kind in [HOST, FIRMWARE_SETTINGS, FIRMWARE_COMPONENTS] {
            engine.watch(client, kind, "", same_name);
        }
        let labels = format!("{}={}", ENVIRONMENT.0, ENVIRONMENT.1);
        engine.watch(client, SECRET, &labels, |secret| {
            let namespace = secret.namespace().unwrap_or_default();
            let owners = secret.owner_references().iter().filter(|o| o.kind == HOST.kind);
            owners.map(|o| (namespace.clone(), o.name.clone())).collect()
        });
        engine.work(&simulator, workers);
        engine.into_handle()
    }
}

struct Simulator {
    store: Store,
    options: Options,
    phases: Phases,
    /// How often a stage of a host has failed because it was told to.
    failures: Mutex<BTreeMap<(Key, &'static str), u32>>,
}

impl Simulator {
    fn forget(&self, key: &Key) {
        self.phases.reset(key);
        lock(&self.failures).retain(|(k, _), _| k != key);
    }
}

impl Reconcile for Simulator {
    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(host) = self.store.get(HOST, &key.0, &key.1).await? else {
            self.forget(key);
            return Ok(None);
        };
        if annotation(&host, PAUSED).is_some() {
            self.phases.reset(key);
            return Ok(None);
        }
        pass::Pass::new(self, key, host).run().await
    }
}
