//! Names: the request's UUID, and the cluster name that becomes ClusterInstance, namespace and ManagedCluster
//! (spec/02 5.1 and 6.5).

use manifests::clcm::ProvisioningRequest;
use serde_json::Value;

use super::error::InputError;

/// Checks that a request name is a UUID as Go's parser understands it.
///
/// # Errors
/// The parser's text: `invalid UUID length: <n>` or `invalid UUID format`.
pub fn check_uuid(name: &str) -> Result<(), String> {
    let bytes = name.as_bytes();
    let dashed = match bytes.len() {
        36 => bytes,
        45 => {
            let (prefix, rest) = bytes.split_at(9);
            if !prefix.eq_ignore_ascii_case(b"urn:uuid:") {
                return Err(format!("invalid urn prefix: {:?}", String::from_utf8_lossy(prefix)));
            }
            rest
        }
        38 => match bytes {
            [b'{', rest @ .., b'}'] => rest,
            _ => return Err("invalid bracketed UUID format".to_owned()),
        },
        32 => {
            return if bytes.iter().all(u8::is_ascii_hexdigit) {
                Ok(())
            } else {
                Err("invalid UUID format".to_owned())
            };
        }
        n => return Err(format!("invalid UUID length: {n}")),
    };
    let well_formed = dashed.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    });
    if well_formed { Ok(()) } else { Err("invalid UUID format".to_owned()) }
}

const MAX_LABEL: usize = 63;
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn is_label(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    match text.as_bytes() {
        [] => false,
        [only] => plain(*only),
        [first, middle @ .., last] => {
            plain(*first) && plain(*last) && middle.iter().all(|b| plain(*b) || *b == b'-')
        }
    }
}

/// Checks that a cluster name is a DNS-1123 label.
///
/// # Errors
/// Of class input (B-20).
pub fn check_format(name: &str) -> Result<(), InputError> {
    let mut reasons = Vec::new();
    if name.len() > MAX_LABEL {
        reasons.push(format!("must be no more than {MAX_LABEL} characters"));
    }
    if !is_label(name) {
        let dots_only = name.contains('.') && name.split('.').all(is_label);
        reasons.push(if dots_only { "must not contain dots".to_owned() } else { LABEL_RULE.to_owned() });
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(InputError::input(format!(
        "clusterName {name:?} is not a valid DNS-1123 label: {}",
        reasons.join("; ")
    )))
}

const RESERVED_NAMES: [&str; 2] = ["default", "openshift"];
const RESERVED_PREFIXES: [&str; 5] =
    ["kube-", "openshift-", "open-cluster-management", "multicluster-", "ztp-"];

/// Checks that a cluster name does not target a namespace of the platform or of the operator.
///
/// # Errors
/// Of class input (B-20).
pub fn check_reserved(name: &str, operator_namespace: &str) -> Result<(), InputError> {
    let exact = RESERVED_NAMES.into_iter().find(|r| *r == name);
    let reserved = exact
        .or_else(|| RESERVED_PREFIXES.into_iter().find(|p| name.starts_with(p)))
        .or_else(|| (name == operator_namespace).then_some(operator_namespace));
    match reserved {
        None => Ok(()),
        Some(prefix) => Err(InputError::input(format!(
            "clusterName {name:?} targets a reserved namespace (prefix {prefix:?})"
        ))),
    }
}

/// The namespace of the name of a cluster, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterNamespace {
    /// Label `provisioningrequest.clcm.openshift.io/name`.
    pub owner: Option<String>,
    /// Phase Terminating, or a deletion timestamp.
    pub terminating: bool,
}

/// Checks that the namespace of that name, if there is one, belongs to this request.
///
/// # Errors
/// Of class input (B-20).
pub fn check_ownership(
    name: &str,
    request: &str,
    namespace: Option<&ClusterNamespace>,
) -> Result<(), InputError> {
    match namespace {
        Some(ns) if ns.owner.as_deref() != Some(request) => Err(InputError::input(format!(
            "namespace {name:?} already exists and is not owned by ProvisioningRequest {request:?}"
        ))),
        _ => Ok(()),
    }
}

/// Names that another request has taken (B-23).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The other request.
    pub request: String,
    /// Its cluster name: that of its ClusterInstance, else `clusterInstanceParameters.clusterName`.
    pub cluster: Option<String>,
    /// Its `nodeClusterName`.
    pub node_cluster: Option<String>,
}

impl Taken {
    /// What this request takes.
    pub fn of(request: &ProvisioningRequest) -> Self {
        let parameters = request.spec.template_parameters.value();
        let text = |pointer: &str| {
            let value = parameters.pointer(pointer).and_then(Value::as_str);
            value.filter(|v| !v.is_empty()).map(str::to_owned)
        };
        let live = request.status.as_ref().and_then(|s| s.extensions.as_ref());
        let live = live.and_then(|e| e.cluster_details.as_ref()).and_then(|c| c.name.clone());
        Taken {
            request: request.metadata.name.clone().unwrap_or_default(),
            cluster: live.or_else(|| text("/clusterInstanceParameters/clusterName")),
            node_cluster: text("/nodeClusterName"),
        }
    }
}

/// Checks that no other request uses the cluster name or the node cluster name (B-23).
///
/// # Errors
/// Of class input.
pub fn check_unique(
    cluster: Option<&str>,
    node_cluster: Option<&str>,
    request: &str,
    others: &[Taken],
) -> Result<(), InputError> {
    for other in others.iter().filter(|o| o.request != request) {
        if cluster.is_some_and(|c| !c.is_empty() && other.cluster.as_deref() == Some(c)) {
            return Err(InputError::input(format!(
                "clusterName {:?} is already used by ProvisioningRequest {:?}",
                cluster.unwrap_or_default(),
                other.request
            )));
        }
        if node_cluster.is_some_and(|c| !c.is_empty() && other.node_cluster.as_deref() == Some(c)) {
            return Err(InputError::input(format!(
                "nodeClusterName {:?} is already used by ProvisioningRequest {:?}",
                node_cluster.unwrap_or_default(),
                other.request
            )));
        }
    }
    Ok(())
}

/// V5 (spec/02 6.1, 6.5): the cluster name of merged cluster data, after all checks.
///
/// # Errors
/// Of class input, with the wrappers of the reconciler.
pub fn cluster_name(
    cluster: &Value,
    request: &str,
    operator_namespace: &str,
    namespace: impl FnOnce(&str) -> Option<ClusterNamespace>,
) -> Result<String, InputError> {
    let within = |e: InputError| e.within("failed to validate clusterName: ");
    let name = match cluster.get("clusterName").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name,
        _ => {
            return Err(within(InputError::input("clusterName is required and must be a non-empty string")));
        }
    };
    check_format(name).map_err(|e| within(e.within("invalid clusterName format: ")))?;
    check_reserved(name, operator_namespace).map_err(|e| within(e.within("reserved clusterName: ")))?;
    check_ownership(name, request, namespace(name).as_ref())
        .map_err(|e| within(e.within("clusterName ownership check failed: ")))?;
    Ok(name.to_owned())
}
