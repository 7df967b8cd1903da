//! A ClusterTemplate as requests use it: schemas compiled, defaults parsed, durations read. Made once per version of the
//! template and its `ConfigMaps`, shared by all requests that name it.

use std::collections::BTreeMap;

use manifests::clcm::ClusterTemplate;
use manifests::meta::names::{config_map_key, parameter, timeout};
use manifests::meta::{GoDuration, yaml};
use serde_json::{Map, Value};

use super::error::InputError;
use super::hwmgmt;
use crate::schema::{self, CheckError, Schema};

/// Data of a ConfigMap.
pub type Data = BTreeMap<String, String>;

/// See the head of the file. A part that cannot be used is an error of its own, reported when it is needed.
#[derive(Debug)]
pub struct Template {
    /// `metadata.name`: `<templateName>.<templateVersion>`.
    pub name: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// `spec.release`
    pub release: String,
    /// `spec.templateId`, for labels of ManagedCluster and Agents.
    pub template_id: Option<String>,
    /// Defaults of the ClusterInstance.
    pub cluster_defaults: Result<Value, InputError>,
    /// Defaults of policy parameters.
    pub policy_defaults: Result<Value, InputError>,
    /// Defaults of hardware data, without what is empty.
    pub hardware_defaults: Map<String, Value>,
    /// The install time-out; always positive.
    pub install_timeout: Result<GoDuration, InputError>,
    /// The configuration time-out; always positive.
    pub configuration_timeout: Result<GoDuration, InputError>,
    whole: Result<Schema, String>,
    cluster: Option<Result<Schema, String>>,
    policy: Option<Result<Schema, String>>,
    hardware: Option<Result<Schema, String>>,
}

impl Template {
    /// Prepares a template. `cluster` and `policy` are the data of its two `ConfigMaps`, when they exist; admission,
    /// which does not merge, needs neither.
    pub fn prepare(template: &ClusterTemplate, cluster: Option<&Data>, policy: Option<&Data>) -> Self {
        let name = template.metadata.name.clone().unwrap_or_default();
        let namespace = template.metadata.namespace.clone().unwrap_or_default();
        let defaults = &template.spec.template_defaults;
        let cluster_map =
            MapRef { name: &defaults.cluster_instance_defaults, namespace: &namespace, data: cluster };
        let policy_map =
            MapRef { name: &defaults.policy_template_defaults, namespace: &namespace, data: policy };
        let document = template.spec.template_parameter_schema.value();
        let part = |key: &str| document.get("properties").and_then(|p| p.get(key));
        let compile =
            |document: &Value| schema::compile(document).map_err(|e| CheckError::Schema(e).to_string());
        Template {
            release: template.spec.release.clone(),
            template_id: template.spec.template_id.clone().filter(|id| !id.is_empty()),
            cluster_defaults: cluster_map.mapping(config_map_key::CLUSTER_INSTANCE_DEFAULTS),
            policy_defaults: policy_map.mapping(config_map_key::POLICY_TEMPLATE_DEFAULTS),
            hardware_defaults: hwmgmt::defaults_as_value(defaults.hw_mgmt_defaults.as_ref()),
            install_timeout: cluster_map
                .duration(config_map_key::INSTALLATION_TIMEOUT, timeout::INSTALLATION),
            configuration_timeout: policy_map
                .duration(config_map_key::CONFIGURATION_TIMEOUT, timeout::CONFIGURATION),
            whole: whole_input(&document, &name),
            cluster: part(parameter::CLUSTER_INSTANCE).map(|part| {
                let mut part = part.clone();
                schema::forbid_unknown(&mut part);
                compile(&part)
            }),
            policy: part(parameter::POLICY_TEMPLATE).map(compile),
            hardware: part(parameter::HW_MGMT).map(compile),
            name,
            namespace,
        }
    }

    /// 6.2: the whole input, without what is inside of the parts that are checked on their own.
    ///
    /// # Errors
    /// Of class input.
    pub fn check_whole(&self, parameters: &Value) -> Result<(), InputError> {
        let errors = match &self.whole {
            Err(text) if text.starts_with("missing ") => return Err(InputError::input(text.clone())),
            Err(text) => text.clone(),
            Ok(schema) => match listing(schema, parameters) {
                None => return Ok(()),
                Some(text) => text,
            },
        };
        Err(InputError::input(format!(
            "spec.templateParameters does not match the schema defined in ClusterTemplate ({}) \
             spec.templateParameterSchema: {errors}",
            self.name
        )))
    }

    /// 6.3: `clusterInstanceParameters` as the user wrote them, unknown fields forbidden.
    ///
    /// # Errors
    /// Of class input.
    pub fn check_cluster(&self, parameters: &Value) -> Result<(), InputError> {
        let input = input_of(parameters, parameter::CLUSTER_INSTANCE)?;
        self.check_part(parameter::CLUSTER_INSTANCE, self.cluster.as_ref(), input)
    }

    /// 6.6: merged policy parameters.
    ///
    /// # Errors
    /// Of class input.
    pub fn check_policy(&self, merged: &Value) -> Result<(), InputError> {
        self.check_part(parameter::POLICY_TEMPLATE, self.policy.as_ref(), merged)
    }

    fn check_part(
        &self,
        key: &str,
        part: Option<&Result<Schema, String>>,
        input: &Value,
    ) -> Result<(), InputError> {
        let errors = match part {
            None => {
                return Err(InputError::input(format!(
                    "failed to extract {key} subschema: the schema from ClusterTemplate ({}) does not define {key}",
                    self.name
                )));
            }
            Some(Err(text)) => text.clone(),
            Some(Ok(schema)) => match listing(schema, input) {
                None => return Ok(()),
                Some(text) => text,
            },
        };
        Err(InputError::input(format!(
            "spec.templateParameters.{key} does not match the schema defined in ClusterTemplate ({}) \
             spec.templateParameterSchema.{key}: {errors}",
            self.name
        )))
    }

    /// 6.8 steps 2 and 3: hardware parameters as the user wrote them.
    ///
    /// # Errors
    /// Of class input.
    pub fn check_hardware(&self, input: &Value) -> Result<(), InputError> {
        let errors = match &self.hardware {
            None => {
                return Err(InputError::input(format!(
                    "templateParameters.hwMgmtParameters is not defined in ClusterTemplate {:?} \
                     spec.templateParameterSchema",
                    self.name
                )));
            }
            Some(Err(text)) => text.clone(),
            Some(Ok(schema)) => match listing(schema, input) {
                None => return Ok(()),
                Some(text) => text,
            },
        };
        Err(InputError::input(format!(
            "templateParameters.hwMgmtParameters does not match the schema defined in ClusterTemplate ({}): {errors}",
            self.name
        )))
    }
}

fn whole_input(document: &Value, template: &str) -> Result<Schema, String> {
    let mut document = document.clone();
    schema::clear_properties(&mut document, template).map_err(|e| e.to_string())?;
    schema::compile(&document).map_err(|e| CheckError::Schema(e).to_string())
}

fn listing(schema: &Schema, input: &Value) -> Option<String> {
    let violations = schema.validate(input);
    (!violations.is_empty()).then(|| schema::listing(&violations))
}

/// A part of the input that must be there. The text, with its odd end, is the one that clients know.
pub(super) fn input_of<'a>(parameters: &'a Value, key: &str) -> Result<&'a Value, InputError> {
    parameters.get(key).ok_or_else(|| {
        InputError::input(format!(
            "failed to extract matching input for subSchema {key}: parent schema does not contain key '{key}': \
             %!w(<nil>)"
        ))
    })
}

struct MapRef<'a> {
    name: &'a str,
    namespace: &'a str,
    data: Option<&'a Data>,
}

impl MapRef<'_> {
    fn data(&self) -> Result<&Data, InputError> {
        self.data.ok_or_else(|| {
            InputError::input(format!(
                "the ConfigMap '{}' is not found in the namespace '{}'",
                self.name, self.namespace
            ))
        })
    }

    fn mapping(&self, key: &str) -> Result<Value, InputError> {
        let Some(text) = self.data()?.get(key) else {
            return Err(InputError::input(format!(
                "the ConfigMap '{}' does not contain a field named '{key}'",
                self.name
            )));
        };
        yaml::parse_mapping(text).map_err(|e| {
            InputError::input(format!(
                "the value of key {key} from ConfigMap {} is not in a valid YAML string: {e}",
                self.name
            ))
        })
    }

    /// Absent and zero mean the default (4.1); a negative one would time out at once (B-19).
    fn duration(&self, key: &str, default: GoDuration) -> Result<GoDuration, InputError> {
        let Some(text) = self.data()?.get(key) else { return Ok(default) };
        let parsed = GoDuration::parse(text).map_err(|e| {
            InputError::input(format!(
                "the value of key {key} from ConfigMap {} is not a valid duration string: {e}",
                self.name
            ))
        })?;
        match parsed.nanos() {
            0 => Ok(default),
            n if n > 0 => Ok(parsed),
            _ => Err(InputError::input(format!(
                "the value of key {key} from ConfigMap {} must be a positive duration",
                self.name
            ))),
        }
    }
}
