//! Validation of a request and all merged data of a pass (spec/02 6.1, steps V1 to V7).

use manifests::meta::GoDuration;
use manifests::meta::names::parameter;
use serde_json::{Map, Value};

use super::clock::Durations;
use super::error::InputError;
use super::hwmgmt::{self, Hardware};
use super::merge::{self, NodeGroups};
use super::names::{self, ClusterNamespace, Taken};
use super::template::{self, Template};

/// What the validation needs.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Name of the request.
    pub request: &'a str,
    /// `<templateName>.<templateVersion>`
    pub template_name: &'a str,
    /// The template of that name, if a valid one exists.
    pub template: Option<&'a Template>,
    /// `spec.templateParameters`
    pub parameters: &'a Value,
    /// The operator namespace.
    pub operator_namespace: &'a str,
    /// Whether a HardwareProfile exists in the operator namespace.
    pub profile_exists: &'a dyn Fn(&str) -> bool,
    /// The namespace of that name, if it exists.
    pub namespace: &'a dyn Fn(&str) -> Option<ClusterNamespace>,
    /// Names of requests that came before this one (B-23).
    pub others: &'a [Taken],
}

/// Everything that later stages take from the input and the template.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated {
    /// Merged cluster data with flat nodes: the spec of the ClusterInstance before rendering.
    pub cluster: Value,
    /// Node groups of the nodes.
    pub groups: NodeGroups,
    /// `clusterName`
    pub cluster_name: String,
    /// Merged policy parameters.
    pub policy: Map<String, Value>,
    /// Merged hardware data with its time-out.
    pub hardware: Hardware,
    /// The install time-out.
    pub install_timeout: GoDuration,
    /// The configuration time-out.
    pub configuration_timeout: GoDuration,
    /// Namespace of the template.
    pub template_namespace: String,
    /// `spec.release` of the template.
    pub release: String,
    /// `spec.templateId` of the template.
    pub template_id: Option<String>,
    /// What surprises users although it is valid, for events.
    pub warnings: Vec<String>,
}

impl Validated {
    /// The durations that are in force.
    pub fn durations(&self) -> Durations {
        Durations {
            hardware: Some(self.hardware.timeout),
            install: Some(self.install_timeout),
            configuration: Some(self.configuration_timeout),
        }
    }
}

/// V1 to V7, first error stops. The text goes into the condition through [`super::stage::validated`].
///
/// # Errors
/// Of class input (B-20).
pub fn validate(input: &Input<'_>) -> Result<Validated, InputError> {
    // V1; the trailing blank is part of the text that clients know.
    let Some(template) = input.template else {
        return Err(InputError::input(format!(
            "failed to get the ClusterTemplate for ProvisioningRequest {}: {} ",
            input.request,
            crate::template::NotFound(input.template_name.to_owned())
        )));
    };
    let (install_timeout, configuration_timeout) = timeouts(template)?;
    template.check_whole(input.parameters)?;

    let merged = cluster(template, input.parameters)
        .map_err(|e| e.within("failed to validate ClusterInstance input: "))?;
    let cluster_name =
        names::cluster_name(&merged.cluster, input.request, input.operator_namespace, input.namespace)?;
    let node_cluster = input.parameters.get(parameter::NODE_CLUSTER_NAME).and_then(Value::as_str);
    names::check_unique(Some(&cluster_name), node_cluster, input.request, input.others)
        .map_err(|e| e.within("failed to validate clusterName: "))?;

    let policy = policy(template, input.parameters)
        .map_err(|e| e.within("failed to validate PolicyTemplate input: "))?;
    let hardware = hardware(template, input.parameters, &merged.groups, input.profile_exists)
        .map_err(|e| e.within("failed to validate hwMgmt input: "))?;

    let mut warnings = merged.warnings;
    warnings.extend(hardware.warnings.iter().cloned());
    Ok(Validated {
        cluster: merged.cluster,
        groups: merged.groups,
        cluster_name,
        policy,
        hardware,
        install_timeout,
        configuration_timeout,
        template_namespace: template.namespace.clone(),
        release: template.release.clone(),
        template_id: template.template_id.clone(),
        warnings,
    })
}

/// V2.
fn timeouts(template: &Template) -> Result<(GoDuration, GoDuration), InputError> {
    let within = |e: &InputError| e.clone().within("failed to load timeouts: ");
    let install = template.install_timeout.as_ref().map_err(within)?;
    let configuration = template.configuration_timeout.as_ref().map_err(within)?;
    Ok((*install, *configuration))
}

/// V4.
fn cluster(template: &Template, parameters: &Value) -> Result<merge::Merged, InputError> {
    template.check_cluster(parameters).map_err(|e| {
        e.within(&format!(
            "the provided clusterInstanceParameters does not match the schema from ClusterTemplate ({}): ",
            template.name
        ))
    })?;
    let input = template::input_of(parameters, parameter::CLUSTER_INSTANCE)?;
    let defaults = template.cluster_defaults.as_ref().map_err(Clone::clone)?;
    merge::merge_cluster(defaults.clone(), input.clone())
}

/// V6.
fn policy(template: &Template, parameters: &Value) -> Result<Map<String, Value>, InputError> {
    let input = template::input_of(parameters, parameter::POLICY_TEMPLATE)?;
    let defaults = template.policy_defaults.as_ref().map_err(Clone::clone)?;
    let merged = Value::Object(merge::merge_policy(defaults.clone(), input.clone())?);
    template.check_policy(&merged)?;
    match merged {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// V7.
fn hardware(
    template: &Template,
    parameters: &Value,
    groups: &NodeGroups,
    profile_exists: &dyn Fn(&str) -> bool,
) -> Result<Hardware, InputError> {
    let input = parameters.get(parameter::HW_MGMT);
    if let Some(input) = input {
        template.check_hardware(input)?;
    }
    let merged = hwmgmt::merge_hardware(template.hardware_defaults.clone(), input)?;
    hwmgmt::check_hardware(&merged, groups, profile_exists)
}
