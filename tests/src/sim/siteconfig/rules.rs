//! What siteconfig's webhook refuses (spec/02 9.3), and the one rule of the assisted installer's that upgrades meet.

use serde_json::{Value, json};

use super::super::admission::{Policy, Rule};
use super::super::kinds::{AGENT_CLUSTER_INSTALL, CLUSTER_INSTANCE};

/// The policies and bindings. JSON texts are only checked for their outer shape: CEL has no JSON parser.
pub fn rules() -> Vec<Value> {
    let mut objects = general().objects();
    objects.extend(updates().objects());
    objects.extend(installs().objects());
    objects
}

fn probe() -> Value {
    let template = json!([{"name": "t", "namespace": "default"}]);
    json!({
        "clusterName": "sim-probe", "baseDomain": "example.com", "clusterImageSetNameRef": "x",
        "pullSecretRef": {"name": "x"}, "templateRefs": template,
        "nodes": [{
            "hostName": "a", "role": "master", "bmcAddress": "x", "bmcCredentialsName": {"name": "x"},
            "bootMACAddress": "02:00:00:00:00:01", "templateRefs": template,
        }],
    })
}

fn is_json(path: &str, field: &str) -> String {
    format!(
        "(!has({path}.{field}) || {path}.{field} == '' \
         || ({path}.{field}.matches('^\\\\s*(\\\\{{[\\\\s\\\\S]*\\\\}}|\\\\[[\\\\s\\\\S]*\\\\])\\\\s*$') \
         && !{path}.{field}.matches(',\\\\s*[\\\\]}}]')))"
    )
}

fn general() -> Policy<'static> {
    let node_json = |field: &str, message: &str| {
        Rule::new(
            &format!("object.spec.nodes.all(n, {})", is_json("n", field)),
            &format!(
                "validation failed: invalid JSON field(s): {message} is not a valid JSON-formatted string"
            ),
        )
    };
    Policy {
        name: "clusterinstances.siteconfig.open-cluster-management.io",
        kind: CLUSTER_INSTANCE,
        operations: &["CREATE", "UPDATE"],
        variables: &[
            ("type", "has(object.spec.clusterType) ? object.spec.clusterType : ''"),
            ("masters", "object.spec.nodes.filter(n, !has(n.role) || n.role == 'master').size()"),
            ("arbiters", "object.spec.nodes.filter(n, has(n.role) && n.role == 'arbiter').size()"),
            ("bare", "object.spec.nodes.filter(n, size(n.templateRefs) == 0).map(n, n.hostName)"),
        ],
        rules: vec![
            Rule::new(
                "request.operation != 'CREATE' || !has(object.spec.reinstall)",
                "reinstall spec cannot be set during initial installation",
            ),
            Rule::new(
                "size(object.spec.templateRefs) > 0",
                "validation failed: missing cluster-level template reference",
            ),
            Rule::telling(
                "size(variables.bare) == 0",
                "'validation failed: missing node-level template reference for node \"' + variables.bare[0] + '\"'",
            ),
            Rule::new(
                &is_json("object.spec", "installConfigOverrides"),
                "validation failed: invalid JSON field(s): installConfigOverrides is not a valid JSON-formatted string",
            ),
            Rule::new(
                &is_json("object.spec", "ignitionConfigOverride"),
                "validation failed: invalid JSON field(s): cluster-level ignitionConfigOverride is not a valid \
                 JSON-formatted string",
            ),
            node_json("installerArgs", "installerArgs"),
            node_json("ignitionConfigOverride", "node-level ignitionConfigOverride"),
            Rule::new(
                "variables.type == 'HostedControlPlane' || variables.masters > 0",
                "validation failed: control-plane agent validation failed: at least 1 control-plane agent is required",
            ),
            Rule::new(
                "variables.type != 'HostedControlPlane' || variables.masters == 0",
                "validation failed: control-plane agent validation failed: hosted control plane clusters must not have \
                 control-plane agents",
            ),
            Rule::new(
                "variables.type != 'SNO' || variables.masters == 1",
                "validation failed: control-plane agent validation failed: single node OpenShift cluster-type must have \
                 exactly 1 control-plane agent",
            ),
            Rule::new(
                "variables.type != 'HighlyAvailableArbiter' || (variables.arbiters > 0 && variables.masters > 1)",
                "validation failed: control-plane agent validation failed: arbiter clusters must have at least 1 arbiter \
                 and 2 control-plane agents",
            ),
            Rule::new(
                "variables.type == 'HighlyAvailableArbiter' || variables.arbiters == 0",
                "validation failed: control-plane agent validation failed: arbiter agents are only allowed in \
                 HighlyAvailableArbiter clusters",
            ),
        ],
        probe: probe(),
    }
}

/// Fields of a node that only a reinstall or nothing may change, sorted.
const NODE_FIELDS: &str = "['automatedCleaningMode', 'bmcAddress', 'bmcCredentialsName', 'bootMACAddress', 'bootMode', \
    'cpuArchitecture', 'hostRef', 'ignitionConfigOverride', 'installerArgs', 'ironicInspect', 'nodeLabels', \
    'nodeNetwork', 'role', 'rootDeviceHints', 'templateRefs']";

/// Fields of the cluster that only a reinstall or nothing may change, sorted.
const FIELDS: &str = "['additionalNTPSources', 'apiVIPs', 'baseDomain', 'caBundleRef', 'clusterName', 'clusterNetwork', \
    'clusterType', 'cpuPartitioningMode', 'diskEncryption', 'extraManifestsRefs', 'holdInstallation', \
    'ignitionConfigOverride', 'ingressVIPs', 'installConfigOverrides', 'machineNetwork', 'networkType', 'platformType', \
    'proxy', 'pullSecretRef', 'reinstall', 'serviceNetwork', 'sshPublicKey', 'templateRefs']";

/// Whether field `k` of `new` and `old` differs.
fn differs(new: &str, old: &str) -> String {
    format!("((k in {new}) != (k in {old}) || ((k in {new}) && {new}[k] != {old}[k]))")
}

/// What changed in kept nodes though it must not: one text per such node.
fn node_changes() -> String {
    format!(
        "object.spec.nodes.map(n, oldObject.spec.nodes.filter(o, o.hostName == n.hostName).map(o, \
         {NODE_FIELDS}.filter(k, !(k in variables.nodeAllowed) && {}) \
         .map(k, 'node ' + n.hostName + ': unauthorized change to ' \
           + (k in ['bmcAddress', 'bootMACAddress'] ? k : '/' + k)).join(' ')).join(' ')).filter(t, t != '')",
        differs("n", "o")
    )
}

const UPDATE_VARIABLES: &[(&str, &str)] = &[
    ("isUpdate", "request.operation == 'UPDATE'"),
    ("changed", "variables.isUpdate && object.spec != oldObject.spec"),
    (
        "reasons",
        "has(object.status) && has(object.status.conditions) \
                 ? object.status.conditions.filter(c, c.type == 'Provisioned').map(c, c.reason) : []",
    ),
    ("completed", "variables.reasons.exists(r, r == 'Completed')"),
    (
        "wasHeld",
        "variables.isUpdate && has(oldObject.spec.holdInstallation) && oldObject.spec.holdInstallation",
    ),
    ("isHeld", "has(object.spec.holdInstallation) && object.spec.holdInstallation"),
    ("free", "variables.wasHeld && !variables.completed"),
    (
        "done",
        "has(object.status) && has(object.status.reinstall) && has(object.status.reinstall.observedGeneration) \
              ? object.status.reinstall.observedGeneration : ''",
    ),
    (
        "running",
        "has(object.status) && has(object.status.reinstall) && has(object.status.reinstall.inProgressGeneration) \
                 && !has(object.status.reinstall.requestEndTime)",
    ),
    ("reinstall", "has(object.spec.reinstall) && object.spec.reinstall.generation != variables.done"),
    ("allowed", "variables.reinstall ? ['reinstall'] : []"),
    (
        "nodeAllowed",
        "variables.reinstall ? ['bmcAddress', 'bootMACAddress', 'nodeNetwork', 'rootDeviceHints'] : []",
    ),
    ("judge", "variables.changed && variables.completed && !variables.free"),
];

fn updates() -> Policy<'static> {
    let node_changes = node_changes();
    let changes = format!(
        "{FIELDS}.filter(k, !(k in variables.allowed) && {})",
        differs("object.spec", "oldObject.spec")
    );
    let mut rules = vec![
        Rule::new(
            "!variables.isUpdate || variables.wasHeld || !variables.isHeld",
            "holdInstallation can only be set to true during creation, not during updates",
        ),
        Rule::new(
            "!variables.changed || variables.free || (variables.completed && !variables.running)",
            "spec update not allowed during provisioning or cluster reinstalls",
        ),
    ];
    rules.push(Rule::telling(
        &format!("!variables.judge || size({node_changes}) == 0"),
        &format!(
            "'invalid spec changes detected: detected unauthorized node modifications: [' + {node_changes}.join(' ') + ']'"
        ),
    ));
    rules.push(Rule::telling(
        &format!("!variables.judge || size({changes}) == 0"),
        &format!(
            "'invalid spec changes detected: detected unauthorized changes in immutable fields: ' \
             + {changes}.map(k, '/' + k).join(', ')"
        ),
    ));
    rules.push(Rule::telling(
        "!variables.judge || !variables.reinstall || (size(object.spec.reinstall.generation) <= 153 \
         && object.spec.reinstall.generation.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",
        "'invalid reinstall fields: invalid reinstall generation: generation name \"' + object.spec.reinstall.generation \
         + '\" is invalid'",
    ));
    rules.push(Rule::new(
        "!variables.judge || !variables.reinstall || !has(object.status.reinstall) \
         || !has(object.status.reinstall.history) \
         || !object.status.reinstall.history.exists(h, h.generation == object.spec.reinstall.generation)",
        "invalid reinstall fields: cannot reuse a previously used reinstall generation",
    ));
    Policy {
        name: "clusterinstance-updates.siteconfig.open-cluster-management.io",
        kind: CLUSTER_INSTANCE,
        operations: &["CREATE", "UPDATE"],
        variables: UPDATE_VARIABLES,
        rules,
        probe: probe(),
    }
}

/// The assisted installer does not let the image of an installed cluster change, so upgrades must suppress this kind
/// (spec/02 7.3).
fn installs() -> Policy<'static> {
    Policy {
        name: "agentclusterinstalls.extensions.hive.openshift.io",
        kind: AGENT_CLUSTER_INSTALL,
        operations: &["CREATE", "UPDATE"],
        variables: &[("isUpdate", "request.operation == 'UPDATE'")],
        rules: vec![Rule::new(
            "!variables.isUpdate || !has(oldObject.spec.clusterMetadata) \
             || object.spec.imageSetRef == oldObject.spec.imageSetRef",
            "Attempted to change AgentClusterInstall.Spec which is immutable after install started: ImageSetRef",
        )],
        probe: json!({"imageSetRef": {"name": "x"}}),
    }
}
