//! Inventory (spec/01 1.11).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema};

/// Default of `spec.smo.oauth.usernameClaim`.
pub const USERNAME_CLAIM: &str = "preferred_username";
/// Default of `spec.smo.oauth.groupsClaim`.
pub const GROUPS_CLAIM: &str = "roles";
/// Default of `spec.smo.oauth.clientBindingClaim`.
pub const CLIENT_BINDING_CLAIM: &str = "has(claims.cnf) ? claims.cnf['x5t#S256'] : []";

/// Configuration of this O-Cloud: its ids, its endpoint, its SMO.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "ocloud.openshift.io",
    version = "v1alpha1",
    kind = "Inventory",
    plural = "inventories",
    namespaced,
    status = "InventoryStatus",
    doc = "Configuration of this O-Cloud: its ids, its endpoint, its SMO.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct InventorySpec {
    /// Global cloud id that the SMO gives.
    #[serde(default, rename = "cloudID", skip_serializing_if = "Option::is_none")]
    pub cloud_id: Option<String>,
    /// Nothing to configure today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_server_config: Option<ServerConfig>,
    /// Nothing to configure today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_server_config: Option<ServerConfig>,
    /// Nothing to configure today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm_server_config: Option<ServerConfig>,
    /// Nothing to configure today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts_server_config: Option<ServerConfig>,
    /// Nothing to configure today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_server_config: Option<ServerConfig>,
    /// The endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressConfig>,
    /// The SMO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smo: Option<SmoConfig>,
    /// ConfigMap with ca-bundle.crt for connections to the outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle_name: Option<String>,
}

absent_is_default!(InventorySpec);

/// Nothing to configure today.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerConfig {}

/// The endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressConfig {
    /// FQDN instead of o2ims.apps.<cluster domain>.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_host: Option<String>,
    /// Certificate of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// Secret with tls.crt and tls.key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// The SMO.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmoConfig {
    /// Base URL.
    pub url: String,
    /// Path of the registration API.
    pub registration_endpoint: String,
    /// How to get tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthConfig>,
    /// Client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
}

/// How to get tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// The claims have defaults and are required nevertheless, as published.
#[schemars(extend("required" = [
    "clientBindingClaim",
    "clientSecretName",
    "groupsClaim",
    "scopes",
    "tokenEndpoint",
    "url",
    "usernameClaim",
]))]
pub struct OAuthConfig {
    /// Base URL of the authorization server.
    pub url: String,
    /// Path of its token API.
    pub token_endpoint: String,
    /// Secret with client-id and client-secret.
    pub client_secret_name: String,
    /// Scopes to ask for.
    pub scopes: Vec<String>,
    /// Audience to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^\S+$"))]
    pub audience: Option<String>,
    /// Claim with the user name.
    #[serde(default = "username_claim")]
    pub username_claim: String,
    /// Claim with the list of groups.
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// CEL expression for the claim with the certificate's fingerprint.
    #[serde(default = "client_binding_claim")]
    pub client_binding_claim: String,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        OAuthConfig {
            url: String::new(),
            token_endpoint: String::new(),
            client_secret_name: String::new(),
            scopes: Vec::new(),
            audience: None,
            username_claim: username_claim(),
            groups_claim: groups_claim(),
            client_binding_claim: client_binding_claim(),
        }
    }
}

fn username_claim() -> String {
    USERNAME_CLAIM.to_owned()
}

fn groups_claim() -> String {
    GROUPS_CLAIM.to_owned()
}

fn client_binding_claim() -> String {
    CLIENT_BINDING_CLAIM.to_owned()
}

/// Observed state of the Inventory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryStatus {
    /// Registration, servers, readiness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Host of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_host: Option<String>,
    /// Id of the hub cluster, which is the local cloud id.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Arguments of each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_server_config: Option<UsedServerConfig>,
}

/// Arguments of each server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedServerConfig {
    /// Artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts_server_used_config: Vec<String>,
    /// Alarms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms_server_used_config: Vec<String>,
    /// Clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_server_used_config: Vec<String>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_server_used_config: Vec<String>,
    /// Provisioning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provisioning_server_used_config: Vec<String>,
}
