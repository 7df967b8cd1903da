//! BIOS settings and firmware components of a host.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::kinds::{FIRMWARE_COMPONENTS, FIRMWARE_SCHEMA, FIRMWARE_SETTINGS, Kind};
use super::super::profile::Profile;
use super::super::store::Result;
use super::super::value::{
    Condition, at, condition, entries, generation, hex, items, key, now, number, put, set_condition, text,
};
use super::pass::{Pass, soonest};

/// `HostFirmwareSettings` and `HostFirmwareComponents` of a host, with their status up to date unless `again` is set.
pub(super) struct Firmware {
    settings: Option<Value>,
    components: Option<Value>,
    /// When a status that is not up to date yet will be.
    pub(super) again: Option<Duration>,
}

impl Firmware {
    /// Both objects have been judged at their current generation.
    pub(super) fn is_ready(&self) -> bool {
        [&self.settings, &self.components].into_iter().flatten().all(is_judged)
    }

    pub(super) fn is_settings_dirty(&self) -> bool {
        self.settings.as_ref().is_some_and(is_dirty)
    }

    pub(super) fn is_components_dirty(&self) -> bool {
        self.components.as_ref().is_some_and(is_dirty)
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.is_settings_dirty() || self.is_components_dirty()
    }

    /// Nothing is wished for at all: a service that fails is given up then.
    pub(super) fn has_no_wish(&self) -> bool {
        let settings = self.settings.as_ref().is_none_or(|s| entries(s, "/spec/settings").is_empty());
        settings && self.components.as_ref().is_none_or(|c| items(c, "/spec/updates").is_empty())
    }

    /// A component that shall be updated but is not there.
    pub(super) fn unknown_component(&self) -> Option<&str> {
        let object = self.components.as_ref().filter(|c| is_dirty(c))?;
        let known =
            |name: &str| items(object, "/status/components").iter().any(|c| text(c, "/component") == name);
        items(object, "/spec/updates").iter().map(|u| text(u, "/component")).find(|name| !known(name))
    }
}

fn is_judged(object: &Value) -> bool {
    ["ChangeDetected", "Valid"].into_iter().all(|type_| {
        condition(object, "/status/conditions", type_)
            .is_some_and(|c| number(c, "/observedGeneration") == generation(object))
    })
}

/// Dirty as BMO sees it (spec/04 section 16).
fn is_dirty(object: &Value) -> bool {
    let is_true =
        |type_| condition(object, "/status/conditions", type_).is_some_and(|c| text(c, "/status") == "True");
    is_judged(object) && is_true("ChangeDetected") && is_true("Valid")
}

/// A setting as text: the spec allows numbers.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn set_judgement(object: &mut Value, changed: bool, problem: Option<(&str, &str)>, fine: &str) -> bool {
    let generation = Some(generation(object));
    let (valid, reason, message) = match problem {
        Some((reason, message)) => ("False", reason, message),
        None => ("True", fine, ""),
    };
    let change = Condition {
        type_: "ChangeDetected",
        status: if changed { "True" } else { "False" },
        reason: fine,
        message: "",
        generation,
    };
    let validity = Condition { type_: "Valid", status: valid, reason, message, generation };
    let first = set_condition(object, "status/conditions", &change);
    let second = set_condition(object, "status/conditions", &validity);
    first || second
}

/// Judges the settings; true when the status changed.
fn judge_settings(object: &mut Value, profile: &Profile, schema: &str) -> bool {
    let mut changed = false;
    if at(object, "/status/settings").is_null() {
        let settings: Map<String, Value> = profile
            .bios
            .iter()
            .filter(|(name, _)| !name.contains("Password"))
            .map(|(name, attribute)| (name.clone(), json!(attribute.value)))
            .collect();
        put(object, "status/settings", Value::Object(settings));
        put(object, "status/schema", json!({"name": schema, "namespace": key(object).0}));
        changed = true;
    }
    let current = at(object, "/status/settings").clone();
    let wished: Vec<(&str, &Value)> = entries(object, "/spec/settings");
    let differs =
        wished.iter().any(|(name, value)| current.get(*name).and_then(Value::as_str) != Some(&plain(value)));
    let is_valid = wished.iter().all(|(name, value)| {
        current.get(*name).is_some()
            && profile.bios.get(*name).is_some_and(|a| is_allowed(&a.schema, name, &plain(value)))
    });
    let problem = (differs && !is_valid).then_some(("ConfigurationError", "Invalid BIOS setting"));
    set_judgement(object, differs, problem, "Success") || changed
}

/// Whether a BIOS attribute may have this value (spec/04 7.2).
fn is_allowed(schema: &Value, name: &str, value: &str) -> bool {
    if super::super::value::flag(schema, "/read_only") || name.contains("Password") {
        return false;
    }
    match text(schema, "/attribute_type") {
        "Enumeration" => items(schema, "/allowable_values").iter().any(|v| v == value),
        "Integer" => value
            .parse::<i64>()
            .is_ok_and(|n| n >= number(schema, "/lower_bound") && n <= number(schema, "/upper_bound")),
        "String" => {
            let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
            length >= number(schema, "/min_length") && length <= number(schema, "/max_length")
        }
        "Boolean" => matches!(value, "true" | "false"),
        "" => true,
        _ => false,
    }
}

/// Judges the components; true when the status changed.
fn judge_components(object: &mut Value, profile: &Profile) -> bool {
    let mut changed = false;
    if at(object, "/status/components").is_null() {
        let components: Vec<Value> = profile
            .components
            .iter()
            .map(|(name, version)| json!({"component": name, "initialVersion": version, "currentVersion": version}))
            .collect();
        put(object, "status/components", json!(components));
        changed = true;
    }
    let differs = items(object, "/spec/updates") != items(object, "/status/updates");
    let unknown = items(object, "/spec/updates")
        .iter()
        .map(|u| text(u, "/component"))
        .find(|name| !matches!(*name, "bios" | "bmc") && !name.starts_with("nic:"))
        .map(|name| {
            format!(
                "component {name} is invalid, only 'bios', 'bmc', or names starting with 'nic:' are allowed"
            )
        });
    let problem = unknown.as_deref().filter(|_| differs).map(|message| ("InvalidComponent", message));
    set_judgement(object, differs, problem, "OK") || changed
}

/// The version that a firmware file brings: as told, else the last dotted number in its name.
fn version_of(url: &str, known: &std::collections::BTreeMap<String, String>) -> String {
    if let Some(version) = known.get(url) {
        return version.clone();
    }
    let file = url.rsplit('/').next().unwrap_or(url);
    let mut numbers = file
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|part| part.trim_matches('.'))
        .filter(|part| part.contains('.') && part.split('.').all(|n| !n.is_empty()));
    numbers.next_back().unwrap_or(file).to_owned()
}

impl Pass<'_> {
    /// Brings the status of the firmware objects up to date (contract row 3).
    pub(super) async fn watch_firmware(&self) -> Result<Firmware> {
        let mut firmware = Firmware { settings: None, components: None, again: None };
        if self.state() == "registering" {
            return Ok(firmware);
        }
        let profile = self.profile();
        if let Some(mut object) = self.store().get(FIRMWARE_SETTINGS, &self.key.0, &self.key.1).await? {
            let stored = object.clone();
            let name = schema_name(&profile);
            if judge_settings(&mut object, &profile, &name) {
                if at(&stored, "/status/schema").is_null() {
                    self.make_schema(&profile, &name, &stored).await?;
                }
                firmware.again = self.write_judgement(FIRMWARE_SETTINGS, &mut object).await?;
            }
            firmware.settings = Some(if firmware.again.is_some() { stored } else { object });
        }
        if let Some(mut object) = self.store().get(FIRMWARE_COMPONENTS, &self.key.0, &self.key.1).await? {
            let stored = object.clone();
            let mut again = None;
            if judge_components(&mut object, &profile) {
                again = self.write_judgement(FIRMWARE_COMPONENTS, &mut object).await?;
            }
            firmware.components = Some(if again.is_some() { stored } else { object });
            firmware.again = soonest(firmware.again, again);
        }
        Ok(firmware)
    }

    /// Writes a status once its time has come; `Some` is how long that takes.
    async fn write_judgement(&self, kind: Kind, object: &mut Value) -> Result<Option<Duration>> {
        let clock = (self.key.0.clone(), format!("{}/{}", self.key.1, kind.plural));
        let phase = generation(object).to_string();
        if let Some(left) = self.sim.phases.left(&clock, &phase, self.times().firmware) {
            return Ok(Some(left));
        }
        self.sim.phases.reset(&clock);
        put(object, "status/lastUpdated", json!(now()));
        *object = self.store().put_status(kind, object).await?;
        Ok(None)
    }

    async fn make_schema(&self, profile: &Profile, name: &str, settings: &Value) -> Result<()> {
        let attributes: Map<String, Value> =
            profile.bios.iter().map(|(name, attribute)| (name.clone(), attribute.schema.clone())).collect();
        let schema = json!({
            "apiVersion": FIRMWARE_SCHEMA.api_version(), "kind": FIRMWARE_SCHEMA.kind,
            "metadata": {"namespace": self.key.0, "name": name, "ownerReferences": [{
                "apiVersion": FIRMWARE_SETTINGS.api_version(), "kind": FIRMWARE_SETTINGS.kind,
                "name": self.key.1, "uid": text(settings, "/metadata/uid"),
            }]},
            "spec": {"hardwareVendor": profile.manufacturer, "hardwareModel": profile.product, "schema": attributes},
        });
        self.store().create(FIRMWARE_SCHEMA, &schema).await?;
        Ok(())
    }

    /// Applies what is dirty: settings, components or both.
    pub(super) async fn flash(&self, firmware: &Firmware, settings: bool, components: bool) -> Result<()> {
        if let Some(object) = firmware.settings.as_ref().filter(|o| settings && is_dirty(o)) {
            let mut object = object.clone();
            let wished: Vec<(String, String)> = entries(&object, "/spec/settings")
                .into_iter()
                .map(|(k, v)| (k.to_owned(), plain(v)))
                .collect();
            for (name, value) in wished {
                put(&mut object, &format!("status/settings/{name}"), json!(value));
            }
            set_judgement(&mut object, false, None, "Success");
            put(&mut object, "status/lastUpdated", json!(now()));
            self.store().put_status(FIRMWARE_SETTINGS, &object).await?;
        }
        if let Some(object) = firmware.components.as_ref().filter(|o| components && is_dirty(o)) {
            let mut object = object.clone();
            let updates = items(&object, "/spec/updates").to_vec();
            let done = items(&object, "/status/updates").to_vec();
            let mut list = items(&object, "/status/components").to_vec();
            for update in updates.iter().filter(|u| !done.contains(u)) {
                let version = version_of(text(update, "/url"), &self.sim.options.firmware);
                if let Some(part) =
                    list.iter_mut().find(|c| text(c, "/component") == text(update, "/component"))
                {
                    put(part, "currentVersion", json!(version));
                    put(part, "lastVersionFlashed", json!(version));
                    put(part, "updatedAt", json!(now()));
                }
            }
            put(&mut object, "status/components", json!(list));
            put(&mut object, "status/updates", json!(updates));
            set_judgement(&mut object, false, None, "OK");
            put(&mut object, "status/lastUpdated", json!(now()));
            self.store().put_status(FIRMWARE_COMPONENTS, &object).await?;
        }
        Ok(())
    }

    /// After a failed service the updates count as not done.
    pub(super) async fn forget_updates(&self, firmware: &Firmware) -> Result<()> {
        let Some(object) = firmware.components.as_ref().filter(|o| !items(o, "/status/updates").is_empty())
        else {
            return Ok(());
        };
        let mut object = object.clone();
        put(&mut object, "status/updates", json!([]));
        put(&mut object, "status/lastUpdated", json!(now()));
        self.store().put_status(FIRMWARE_COMPONENTS, &object).await?;
        Ok(())
    }
}

/// `schema-` and 8 hex digits over the sorted names, types and limits: equal hosts share one.
fn schema_name(profile: &Profile) -> String {
    let text: Vec<String> = profile.bios.iter().map(|(name, a)| format!("{name}{}", a.schema)).collect();
    let hash = hex(&Sha256::digest(text.join("\n")), 4);
    format!("schema-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn reads_the_version_from_the_file_name() {
        let told = BTreeMap::from([("https://x.test/fw.bin".to_owned(), "9.9".to_owned())]);
        assert_eq!(version_of("https://x.test/fw.bin", &told), "9.9");
        assert_eq!(version_of("https://x.test/BIOS_J5P8T_WN64_2.6.3.EXE", &told), "2.6.3");
        assert_eq!(version_of("https://x.test/iDRAC-7.20.30.50.d9.bin", &told), "7.20.30.50");
        assert_eq!(version_of("https://x.test/plain", &told), "plain");
    }

    fn settings(spec: &Value) -> Value {
        let mut object = json!({"metadata": {"namespace": "racks", "name": "a", "generation": 2}, "spec": {"settings": spec}});
        judge_settings(&mut object, &Profile::standard(), "schema-1");
        object
    }

    #[test]
    fn finds_a_change_and_judges_it() {
        assert!(!is_dirty(&settings(&json!({}))));
        assert!(!is_dirty(&settings(&json!({"LogicalProc": "Enabled"}))));
        assert!(is_dirty(&settings(&json!({"LogicalProc": "Disabled", "AcPwrRcvryUserDelay": 120}))));
        for bad in [
            json!({"LogicalProc": "Maybe"}),
            json!({"AcPwrRcvryUserDelay": 5}),
            json!({"SystemBiosVersion": "3"}),
            json!({"SystemPassword": "x"}),
            json!({"NoSuch": "x"}),
        ] {
            let object = settings(&bad);
            assert!(!is_dirty(&object), "{bad}");
            let valid = condition(&object, "/status/conditions", "Valid").unwrap();
            assert_eq!(text(valid, "/message"), "Invalid BIOS setting", "{bad}");
        }
    }

    #[test]
    fn compares_updates_with_what_was_flashed_not_with_versions() {
        let update = json!([{"component": "bios", "url": "https://x.test/2.3.5.bin"}]);
        let mut object = json!({"metadata": {"namespace": "racks", "name": "a", "generation": 1},
            "spec": {"updates": update}});
        judge_components(&mut object, &Profile::standard());
        assert!(is_dirty(&object));
        put(&mut object, "status/updates", update);
        judge_components(&mut object, &Profile::standard());
        assert!(!is_dirty(&object));
    }
}
