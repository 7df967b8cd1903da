//! What BMO's webhooks refuse (spec/04 section 15).

use serde_json::{Value, json};

use super::super::admission::{Policy, Rule};
use super::super::kinds::{FIRMWARE_COMPONENTS, HOST};

const VARIABLES: &[(&str, &str)] = &[
    ("annotations", "has(object.metadata.annotations) ? object.metadata.annotations : {}"),
    ("address", "has(object.spec.bmc) ? object.spec.bmc.address : ''"),
    ("scheme", "variables.address.contains('://') ? variables.address.split('://')[0] : 'ipmi'"),
    ("driver", "variables.scheme.replace('+https', '').replace('+http', '')"),
    ("mac", "has(object.spec.bootMACAddress) ? object.spec.bootMACAddress : ''"),
    (
        "inspect",
        "'inspect.metal3.io' in variables.annotations ? variables.annotations['inspect.metal3.io'] : 'absent'",
    ),
    ("inspectionMode", "has(object.spec.inspectionMode) ? object.spec.inspectionMode : ''"),
    ("isInspectionDisabled", "variables.inspect == 'disabled' || variables.inspectionMode == 'disabled'"),
    (
        "hint",
        "has(object.spec.rootDeviceHints) && has(object.spec.rootDeviceHints.deviceName) \
              ? object.spec.rootDeviceHints.deviceName : ''",
    ),
    ("image", "has(object.spec.image) ? object.spec.image.url : ''"),
];

/// The policies and bindings.
pub fn rules() -> Vec<Value> {
    let mut objects = hosts().objects();
    objects.extend(changes().objects());
    objects.extend(components().objects());
    objects
}

fn hosts() -> Policy<'static> {
    Policy {
        name: "baremetalhost.metal3.io",
        kind: HOST,
        operations: &["CREATE", "UPDATE"],
        variables: VARIABLES,
        rules: vec![
            Rule::telling(
                "variables.address == '' || variables.driver in ['ipmi', 'libvirt', 'redfish', 'redfish-virtualmedia', \
                 'redfish-uefihttp', 'idrac-redfish', 'idrac-virtualmedia', 'ilo5-redfish', 'ilo5-virtualmedia'] \
                 && !(variables.driver in ['ipmi', 'libvirt'] && variables.scheme.contains('+'))",
                "'Unknown BMC type \\'' + variables.scheme + '\\' for address ' + variables.address",
            ),
            Rule::telling(
                "!variables.address.contains('://') || isURL(variables.address)",
                "'failed to parse BMC address information: ' + variables.address",
            ),
            Rule::telling(
                "variables.address == '' || variables.mac != '' \
                 || (variables.driver.endsWith('-virtualmedia') && !variables.isInspectionDisabled)",
                "'BMC driver ' + variables.driver + ' requires a BootMACAddress value'",
            ),
            Rule::new(
                "object.metadata.name.matches('^[A-Za-z0-9._-]+$')",
                "BareMetalHost resource name cannot contain characters other than [A-Za-z0-9._-]",
            ),
            Rule::new(
                "!object.metadata.name.matches('^([0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32})$')",
                "BareMetalHost resource name cannot be a UUID",
            ),
            cross_namespace("userData"),
            cross_namespace("networkData"),
            cross_namespace("metaData"),
            Rule::telling(
                "variables.hint == '' || variables.hint.startsWith('/dev/')",
                "'device name of root device hint must be a /dev/ path, not \"' + variables.hint + '\"'",
            ),
            Rule::telling(
                "variables.hint == '' || variables.hint.matches('^/dev/(disk/by-path/)?[^/]*$') \
                 || !variables.hint.startsWith('/dev/')",
                "'device name of root device hint must be path in /dev/ or /dev/disk/by-path/, not \"' \
                 + variables.hint + '\"'",
            ),
            Rule::telling(
                "!has(object.spec.image) || isURL(variables.image)",
                "'image URL ' + variables.image + ' is invalid'",
            ),
            Rule::new(
                "!has(object.spec.image) || variables.image.startsWith('oci://') \
                 || (has(object.spec.image.format) && object.spec.image.format == 'live-iso') \
                 || (has(object.spec.image.checksum) && object.spec.image.checksum != '')",
                "checksum is required for normal images",
            ),
            Rule::new(
                "variables.inspect in ['', 'disabled', 'absent']",
                "invalid value for the inspect.metal3.io annotation, allowed are \"disabled\" or \"\"",
            ),
            Rule::new(
                "variables.inspect in ['', 'absent'] || variables.inspectionMode == '' \
                 || (variables.inspect == 'disabled') == (variables.inspectionMode == 'disabled')",
                "inspect.metal3.io annotation and inspectionMode field have contradicting values",
            ),
            Rule::new(
                "!('inspect.metal3.io/hardwaredetails' in variables.annotations) \
                 || variables.annotations['inspect.metal3.io/hardwaredetails'] == '' || variables.isInspectionDisabled",
                "when hardware details are provided, inspection must be disabled (either via inspect.metal3.io \
                 annotation or inspectionMode field)",
            ),
            Rule::new(
                "!('inspect.metal3.io/hardwaredetails' in variables.annotations) \
                 || variables.annotations['inspect.metal3.io/hardwaredetails'].matches('^(\\\\s*\\\\{[\\\\s\\\\S]*\\\\}\\\\s*)?$')",
                "error decoding the inspect.metal3.io/hardwaredetails annotation",
            ),
            Rule::new(
                &reboot("variables.annotations[k].matches('^(\\\\s*\\\\{[\\\\s\\\\S]*\\\\}\\\\s*)?$')"),
                "failed to unmarshal the data from the reboot.metal3.io annotation",
            ),
            Rule::new(
                &reboot(
                    "(!variables.annotations[k].contains('\"mode\"') \
                     || variables.annotations[k].matches('\"mode\"\\\\s*:\\\\s*\"(hard|soft|)\"'))",
                ),
                "invalid mode in the reboot.metal3.io annotation, allowed are \"hard\", \"soft\" or \"\"",
            ),
            Rule::new(
                "!(has(object.spec.disablePowerOff) && object.spec.disablePowerOff) || object.spec.online",
                "node can't simultaneously have online set to false and have power off disabled",
            ),
        ],
        probe: json!({"online": false}),
    }
}

fn cross_namespace(field: &str) -> Rule {
    let path = format!("object.spec.{field}");
    Rule::new(
        &format!(
            "!has({path}) || !has({path}.namespace) || {path}.namespace == '' || {path}.namespace == object.metadata.namespace"
        ),
        &format!("{field}: cross-namespace Secret references are not allowed"),
    )
}

/// A condition on every reboot annotation `k`.
fn reboot(condition: &str) -> String {
    format!(
        "variables.annotations.all(k, !(k == 'reboot.metal3.io' || k.startsWith('reboot.metal3.io/')) || {condition})"
    )
}

fn changes() -> Policy<'static> {
    Policy {
        name: "baremetalhost-changes.metal3.io",
        kind: HOST,
        operations: &["CREATE", "UPDATE"],
        variables: &[
            ("isUpdate", "request.operation == 'UPDATE'"),
            ("oldAddress", "variables.isUpdate && has(oldObject.spec.bmc) ? oldObject.spec.bmc.address : ''"),
            ("address", "has(object.spec.bmc) ? object.spec.bmc.address : ''"),
            (
                "oldMac",
                "variables.isUpdate && has(oldObject.spec.bootMACAddress) ? oldObject.spec.bootMACAddress : ''",
            ),
            ("mac", "has(object.spec.bootMACAddress) ? object.spec.bootMACAddress : ''"),
            (
                "wasExternal",
                "variables.isUpdate && has(oldObject.spec.externallyProvisioned) \
                            && oldObject.spec.externallyProvisioned",
            ),
            ("isExternal", "has(object.spec.externallyProvisioned) && object.spec.externallyProvisioned"),
            (
                "state",
                "has(object.status) && has(object.status.provisioning) ? object.status.provisioning.state : ''",
            ),
            (
                "isDetached",
                "has(object.status) && has(object.status.operationalStatus) \
                            && object.status.operationalStatus == 'detached'",
            ),
        ],
        rules: vec![
            Rule::new(
                "variables.oldAddress == '' || variables.oldAddress == variables.address || variables.isDetached \
                 || variables.state == 'registering'",
                "BMC address can not be changed if the BMH is not in the Registering state, or if the BMH is not detached",
            ),
            Rule::new(
                "variables.oldMac == '' || variables.oldMac.lowerAscii() == variables.mac.lowerAscii()",
                "bootMACAddress can not be changed once it is set",
            ),
            Rule::telling(
                "!variables.isUpdate || variables.wasExternal || !variables.isExternal || variables.state == 'available'",
                "'externallyProvisioned can only be enabled when in Available state, currently in ' + variables.state",
            ),
        ],
        probe: json!({"online": false}),
    }
}

fn components() -> Policy<'static> {
    Policy {
        name: "hostfirmwarecomponents.metal3.io",
        kind: FIRMWARE_COMPONENTS,
        operations: &["CREATE", "UPDATE"],
        variables: &[("bad", "object.spec.updates.filter(u, !isURL(u.url))")],
        rules: vec![Rule::telling(
            "size(variables.bad) == 0",
            "'invalid URL \"' + variables.bad[0].url + '\" in FirmwareUpdate in component \"' \
             + variables.bad[0].component + '\"'",
        )],
        probe: json!({"updates": []}),
    }
}
