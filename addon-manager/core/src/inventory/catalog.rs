//! `FirmwareCatalog` (spec/01 6.2). All checks of its entries are the CRD's.

use jiff::Timestamp;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{FirmwareCatalog, FirmwareCatalogSpec, FirmwareCatalogStatus, ImageValidationStatus};
use manifests::meta::condition::Next;
use manifests::meta::names;

use super::place::say;
use crate::plan::{Plan, Step};

/// Reason of a good entry.
const VALID: &str = "Valid";
/// Message of a good entry.
const ENTRY_IS_VALID: &str = "Firmware image entry is valid";
/// Message of the condition.
const ALL_ARE_VALID: &str = "All firmware catalog entries are valid";

/// One status per entry and condition `Validation`; written when the condition is missing, changed or about another
/// generation.
pub fn decide_catalog(catalog: &FirmwareCatalog, now: Timestamp) -> Plan<FirmwareCatalogStatus> {
    if catalog.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let mut status = catalog.status.clone().unwrap_or_default();
    let next = Next::yes(HardwareCondition::Validation, HardwareReason::Completed, ALL_ARE_VALID);
    if say(&mut status.conditions, &catalog.metadata, next, now) {
        status.observed_generation = catalog.metadata.generation;
        status.image_statuses = catalog
            .spec
            .images
            .iter()
            .map(|image| ImageValidationStatus {
                name: image.name.clone(),
                valid: true,
                reason: Some(VALID.to_owned()),
                message: Some(ENTRY_IS_VALID.to_owned()),
            })
            .collect();
    }
    Plan { status: Some(status), ..Plan::default() }
}

/// The step that creates the one catalog of the operator namespace, empty. Take it only when none of that name exists:
/// a catalog is never overwritten.
///
/// # Errors
/// When the object cannot be turned into JSON.
pub fn create_catalog(namespace: &str) -> Result<Step, serde_json::Error> {
    let mut catalog = FirmwareCatalog::new(names::FIRMWARE_CATALOG, FirmwareCatalogSpec::default());
    catalog.metadata.namespace = Some(namespace.to_owned());
    Step::apply(&catalog)
}
