//! Texts that clients match on (spec/04 3.1) and limits.

use manifests::meta::GoDuration;
use manifests::meta::names::timeout;

/// How long hardware provisioning may take when the request does not say (spec/04 4.5).
pub const DEFAULT_TIMEOUT: GoDuration = timeout::HARDWARE;

pub(super) const HANDLING_CREATION: &str = "Handling creation";
pub(super) const CREATION_FAILED: &str = "Creation request failed: ";
pub(super) const AWAITING: &str = "Spec updated; awaiting configuration application by the hardware manager";
pub(super) const SCALING_OUT: &str = "Allocating additional nodes for scale-out";
pub(super) const CREATED: &str = "Created";
pub(super) const TIMED_OUT: &str = "Hardware provisioning timed out";

pub(super) const NODE_IN_PROGRESS: &str = "Hardware configuration in progress";
pub(super) const NODE_COMPLETED: &str = "Hardware provisioning completed";
pub(super) const NODE_PROVISIONED: &str = "Provisioned";
pub(super) const APPLIED: &str = "Configuration has been applied successfully";

/// Start of the message of a request that waits for hosts.
pub(super) const SHORTAGE: &str = "not enough free resources matching nodegroup=";

/// How long an error of a host is tolerated (spec/04 7.6).
pub(super) const ERROR_TOLERANCE: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

/// How long a host may take to report what it says it has applied (spec/04 B21).
pub(super) const EFFECT_TOLERANCE: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);
