//! A HardwareProfile held against a host: BIOS settings and firmware (spec/04 7.1 to 7.5).
//!
//! Level triggered (B19): every pass compares what the profile wants with what the host reports and with what was asked
//! of it, so it does not matter which intermediate states were seen.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use manifests::clcm::{AttributeValue, Firmware, HardwareProfileSpec};
use manifests::meta::condition;
use manifests::metal3::{
    AttributeType, FirmwareComponent, FirmwareSchema, FirmwareUpdate, HostFirmwareComponents,
    HostFirmwareSettings, SettingSchema, conditions,
};

/// What the host reports, and what was asked of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reported<'a> {
    pub(super) settings: Option<&'a HostFirmwareSettings>,
    pub(super) schema: Option<&'a FirmwareSchema>,
    pub(super) components: Option<&'a HostFirmwareComponents>,
}

/// Outcome of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The host is as the profile wants it.
    Met,
    /// Something differs; `Some` is what still has to be asked of the host.
    Differs { settings: Option<Settings>, updates: Option<Vec<FirmwareUpdate>> },
    /// The host does not report enough yet.
    Waiting(String),
    /// The user must change the profile.
    Invalid(String),
}

/// Wanted `spec.settings` of the HostFirmwareSettings.
pub(super) type Settings = BTreeMap<String, IntOrString>;

/// Compares a profile with a host.
pub(super) fn compare(profile: &HardwareProfileSpec, reported: &Reported<'_>) -> Verdict {
    let settings = match compare_settings(profile, reported) {
        Ok(difference) => difference,
        Err(verdict) => return verdict,
    };
    let updates = match compare_components(profile, reported.components) {
        Ok(difference) => difference,
        Err(verdict) => return verdict,
    };
    if settings.is_none() && updates.is_none() {
        return Verdict::Met;
    }
    Verdict::Differs { settings: settings.flatten(), updates: updates.flatten() }
}

/// The names of what differs, for messages.
pub(super) fn differences(profile: &HardwareProfileSpec, reported: &Reported<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let status = reported.settings.and_then(|s| s.status.as_ref());
    for (name, wanted) in &profile.bios.attributes {
        let real = status.and_then(|s| s.settings.get(name.as_str())).map_or("", AsRef::as_ref);
        if !alike(&wanted.to_string(), real) {
            out.push(format!("BIOS setting {name} is {real:?}, wanted {:?}", wanted.to_string()));
        }
    }
    let components = components(reported.components);
    for (name, firmware) in [("bios", &profile.bios_firmware), ("bmc", &profile.bmc_firmware)] {
        if let Some(wanted) = firmware.as_ref().and_then(version) {
            let real = find(components, name).map_or("", |c| &*c.current_version);
            if normal(real) != normal(wanted) {
                out.push(format!("{name} firmware is {real:?}, wanted {wanted:?}"));
            }
        }
    }
    for wanted in profile.nic_firmware.iter().filter_map(version) {
        if !nics(components).any(|c| normal(&c.current_version) == normal(wanted)) {
            out.push(format!("no NIC has firmware {wanted:?}"));
        }
    }
    out
}

/// Since when the operator says that everything it was asked for is applied, although the host reports something else
/// (B21, B41): a flash that ends with another version, a setting that the host does not keep. `None` while it has not
/// said so about our last write.
pub(super) fn applied_without_effect(
    profile: &HardwareProfileSpec,
    reported: &Reported<'_>,
) -> Option<Timestamp> {
    let settings =
        reported.settings.filter(|_| matches!(compare_settings(profile, reported), Ok(Some(None))));
    let components = reported
        .components
        .filter(|_| matches!(compare_components(profile, reported.components), Ok(Some(None))));
    let mut since = Vec::new();
    if let Some(object) = settings {
        since.push(confirmed(object.status.as_ref().map(|s| &*s.conditions), object.metadata.generation));
    }
    if let Some(object) = components {
        let flashed = object.status.as_ref().filter(|s| s.updates == object.spec.updates);
        since.push(confirmed(flashed.map(|s| &*s.conditions), object.metadata.generation));
    }
    since.into_iter().collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn confirmed(list: Option<&[condition::Condition]>, generation: Option<i64>) -> Option<Timestamp> {
    let c = condition::find(list?, conditions::CHANGE_DETECTED)?;
    let is_current = c.observed_generation.is_some() && c.observed_generation == generation;
    (is_current && c.status == condition::status::FALSE).then_some(c.last_transition_time.0)
}

/// Three answers: nothing differs; something differs and is asked for; something differs and has to be asked for.
type Difference<T> = Result<Option<Option<T>>, Verdict>;

fn compare_settings(profile: &HardwareProfileSpec, reported: &Reported<'_>) -> Difference<Settings> {
    let wanted = &profile.bios.attributes;
    if wanted.is_empty() {
        return Ok(None);
    }
    let settings: Settings =
        wanted.iter().map(|(name, value)| (name.clone(), int_or_string(value))).collect();
    let Some(object) = reported.settings else { return Ok(Some(Some(settings))) };
    let Some(status) = object.status.as_ref().filter(|s| s.schema.is_some()) else {
        return waiting(object.metadata.name.as_deref(), "HostFirmwareSettings", "no schema");
    };
    let Some(schema) = reported.schema else {
        return waiting(object.metadata.name.as_deref(), "FirmwareSchema", "nothing");
    };
    let mut problems: Vec<String> = Vec::new();
    for (name, value) in wanted {
        if !status.settings.contains_key(name.as_str()) {
            problems.push(format!("setting {name} is not in the Status field"));
        } else if let Err(problem) = check(name, &value.to_string(), schema.spec.schema.get(name.as_str())) {
            problems.push(format!("Setting {name} is invalid, {problem}"));
        }
    }
    if !problems.is_empty() {
        return Err(Verdict::Invalid(format!("invalid BIOS settings: [{}]", problems.join(" "))));
    }
    let is_asked = object.spec.settings == settings;
    let differs = wanted.iter().any(|(name, value)| {
        let real = status.settings.get(name.as_str()).map_or("", AsRef::as_ref);
        let value = value.to_string();
        // What the host was asked for counts as done when it reads alike; before that only the very text counts.
        if is_asked { !alike(&value, real) } else { value != real }
    });
    let meta = &object.metadata;
    if differs || (is_asked && is_pending(&status.conditions, meta.generation)) {
        return Ok(Some((!is_asked).then_some(settings)));
    }
    Ok(None)
}

/// Rules of the FirmwareSchema (spec/04 7.2), in this order.
fn check(name: &str, value: &str, rule: Option<&SettingSchema>) -> Result<(), String> {
    let Some(rule) = rule else { return Err("it is not in the associated schema".to_owned()) };
    if rule.read_only == Some(true) {
        return Err("it is ReadOnly".to_owned());
    }
    if name.contains("Password") {
        return Err("Password fields can't be set".to_owned());
    }
    match rule.attribute_type.as_ref() {
        None | Some(AttributeType::None) => Ok(()),
        Some(AttributeType::Enumeration) if rule.allowable_values.iter().any(|v| **v == *value) => Ok(()),
        Some(AttributeType::Enumeration) => Err(format!("unknown enumeration value - {value}")),
        Some(AttributeType::Integer) => {
            let Ok(number) = value.parse::<i64>() else {
                return Err(format!("String {value} entered while integer expected"));
            };
            match (rule.lower_bound, rule.upper_bound) {
                (Some(low), _) if number < low => {
                    Err(format!("integer {value} is below minimum value {low}"))
                }
                (_, Some(high)) if number > high => {
                    Err(format!("integer {value} is above maximum value {high}"))
                }
                _ => Ok(()),
            }
        }
        Some(AttributeType::String) => {
            let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
            match (rule.min_length, rule.max_length) {
                (Some(low), _) if length < low => {
                    Err(format!("string {value} length is below minimum length {low}"))
                }
                (_, Some(high)) if length > high => {
                    Err(format!("string {value} length is above maximum length {high}"))
                }
                _ => Ok(()),
            }
        }
        Some(AttributeType::Boolean) if value == "true" || value == "false" => Ok(()),
        Some(AttributeType::Boolean) => Err(format!("{value} is not a boolean")),
        Some(AttributeType::Password) => Err("passwords are immutable".to_owned()),
        Some(AttributeType::Other(text)) => Err(format!("unexpected attribute type {text}")),
    }
}

fn compare_components(
    profile: &HardwareProfileSpec,
    object: Option<&HostFirmwareComponents>,
) -> Difference<Vec<FirmwareUpdate>> {
    let bios = profile.bios_firmware.as_ref().filter(|f| is_wanted(f));
    let bmc = profile.bmc_firmware.as_ref().filter(|f| is_wanted(f));
    let cards: Vec<&Firmware> = profile.nic_firmware.iter().filter(|f| is_wanted(f)).collect();
    for (what, firmware) in [("BIOS", bios), ("BMC", bmc)] {
        if let Some(firmware) = firmware {
            check_url(what, "", firmware).map_err(Verdict::Invalid)?;
        }
    }
    for (i, firmware) in profile.nic_firmware.iter().enumerate().filter(|(_, f)| is_wanted(f)) {
        check_url("NIC", &format!(" for NIC at index {i}"), firmware).map_err(Verdict::Invalid)?;
    }
    if bios.is_none() && bmc.is_none() && cards.is_empty() {
        // B16: nothing is wanted, so the object is none of our business.
        return Ok(None);
    }
    let both = [("bios", bios), ("bmc", bmc)];
    let Some(object) = object else {
        let updates = both.iter().filter_map(|(name, f)| update(name, (*f)?)).collect();
        return Ok(Some(Some(updates)));
    };
    let Some(status) = object.status.as_ref() else {
        return waiting(object.metadata.name.as_deref(), "HostFirmwareComponents", "no components");
    };
    for (name, title, firmware) in [("bios", "BIOS", bios), ("bmc", "BMC", bmc)] {
        if firmware.is_some() && find(&status.components, name).is_none() {
            return Err(Verdict::Invalid(format!(
                "{title} firmware update requested but {title} component not found in HostFirmwareComponents"
            )));
        }
    }
    let present = nics(&status.components).count();
    if !cards.is_empty() && present == 0 {
        return Err(Verdict::Invalid(
            "NIC firmware update requested but no NIC components found in HostFirmwareComponents".to_owned(),
        ));
    }
    if cards.len() > present {
        return Err(Verdict::Invalid(format!(
            "NIC firmware update requested for {} NICs but only {present} NIC components found in \
             HostFirmwareComponents",
            cards.len()
        )));
    }
    let mut wanted = Vec::new();
    for component in &status.components {
        let firmware = both.iter().find(|(name, _)| is_component(component, name)).and_then(|(_, f)| *f);
        if let Some(firmware) = firmware
            && normal(&component.current_version) != normal(version(firmware).unwrap_or_default())
        {
            wanted.extend(update(&component.component, firmware));
        }
    }
    wanted.extend(cards_to_flash(&cards, &status.components));
    let is_asked = wanted.iter().all(|w| object.spec.updates.contains(w));
    if !wanted.is_empty() {
        return Ok(Some((!is_asked).then_some(wanted)));
    }
    let is_ours = object.spec.updates.iter().any(|u| {
        [bios, bmc]
            .into_iter()
            .flatten()
            .chain(cards.iter().copied())
            .any(|f| f.url.as_deref() == Some(&*u.url))
    });
    if is_ours && is_pending(&status.conditions, object.metadata.generation) {
        return Ok(Some(None));
    }
    Ok(None)
}

/// For each entry that no card runs: the first card that is not used by another entry.
fn cards_to_flash(cards: &[&Firmware], components: &[FirmwareComponent]) -> Vec<FirmwareUpdate> {
    let runs = |c: &FirmwareComponent, f: &Firmware| {
        normal(&c.current_version) == normal(version(f).unwrap_or_default())
    };
    let mut used: Vec<&str> =
        nics(components).filter(|c| cards.iter().any(|f| runs(c, f))).map(|c| &*c.component).collect();
    let mut out = Vec::new();
    for firmware in cards.iter().filter(|f| !nics(components).any(|c| runs(c, f))) {
        if let Some(card) = nics(components).find(|c| !used.contains(&&*c.component)) {
            used.push(&card.component);
            out.extend(update(&card.component, firmware));
        }
    }
    out
}

/// The operator has seen a difference that it has not applied yet. It may not have looked at our last write: then the
/// generation that it reports is older.
fn is_pending(list: &[condition::Condition], generation: Option<i64>) -> bool {
    condition::find(list, conditions::CHANGE_DETECTED).is_some_and(|c| {
        c.status == condition::status::TRUE
            || (c.observed_generation.is_some() && c.observed_generation != generation)
    })
}

fn waiting<T>(name: Option<&str>, kind: &str, what: &str) -> Difference<T> {
    Err(Verdict::Waiting(format!("{kind} of host {} reports {what} yet", name.unwrap_or_default())))
}

fn check_url(what: &str, place: &str, firmware: &Firmware) -> Result<(), String> {
    let url = firmware.url.as_deref().filter(|u| !u.is_empty());
    match (version(firmware), url) {
        (Some(version), None) => Err(format!(
            "missing {what} firmware URL{place}{} version: {version}",
            if place.is_empty() { " for" } else { "," }
        )),
        (None, Some(url)) => Err(format!("missing {what} firmware version{place} for URL: {url}")),
        (Some(_), Some(url)) if !is_absolute(url) => {
            Err(format!("invalid {what} firmware URL{place}: {url}"))
        }
        _ => Ok(()),
    }
}

/// Has a scheme and a host.
fn is_absolute(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let mut letters = scheme.bytes();
    let scheme_ok = letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().filter(|h| !h.is_empty()).unwrap_or(host);
    scheme_ok && !host.is_empty() && !host.starts_with(':') && !url.bytes().any(|b| b <= b' ' || b == 0x7f)
}

fn update(component: &str, firmware: &Firmware) -> Option<FirmwareUpdate> {
    let url = firmware.url.as_deref().filter(|u| !u.is_empty())?;
    Some(FirmwareUpdate { component: component.into(), url: url.into() })
}

fn is_wanted(firmware: &Firmware) -> bool {
    let filled = |t: &Option<String>| t.as_deref().is_some_and(|t| !t.is_empty());
    filled(&firmware.version) || filled(&firmware.url)
}

fn version(firmware: &Firmware) -> Option<&str> {
    firmware.version.as_deref().filter(|v| !v.is_empty())
}

fn components(object: Option<&HostFirmwareComponents>) -> &[FirmwareComponent] {
    object.and_then(|o| o.status.as_ref()).map_or(&[], |s| &s.components)
}

fn find<'a>(components: &'a [FirmwareComponent], name: &str) -> Option<&'a FirmwareComponent> {
    components.iter().find(|c| is_component(c, name))
}

fn is_component(component: &FirmwareComponent, name: &str) -> bool {
    component.component.trim().eq_ignore_ascii_case(name)
}

fn nics(components: &[FirmwareComponent]) -> impl Iterator<Item = &FirmwareComponent> {
    components.iter().filter(|c| c.component.get(..4).is_some_and(|p| p.eq_ignore_ascii_case("nic:")))
}

fn int_or_string(value: &AttributeValue) -> IntOrString {
    match value {
        AttributeValue::Int(n) => {
            i32::try_from(*n).map_or_else(|_| IntOrString::String(n.to_string()), IntOrString::Int)
        }
        AttributeValue::Text(text) => IntOrString::String(text.clone()),
    }
}

fn alike(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

/// Blanks, case and a `v` before the number do not make a version another one (B17).
fn normal(version: &str) -> String {
    let text = version.trim().to_lowercase();
    match text.strip_prefix('v') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
