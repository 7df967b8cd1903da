//! Certificate requests of agents: approve, deny or leave alone (spec/07 5.4).
//!
//! Upstream tests a prefix of the requester's name, so that cluster `a` may act for cluster `ab`; another add-on
//! approves everything. Here every part of the identity must be exactly what the add-on's agent of that one cluster
//! is; what names our add-on and is anything else is denied, so that nobody can approve it by mistake later.

use std::sync::Arc;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use manifests::ocm::names::{
    ADDON, AGENT_DNS_NAME, ANNOTATION_CSR_USER, KUBE_CLIENT_SIGNER, LABEL_ADDON_NAME, LABEL_CLUSTER_NAME,
    agent_cluster_group, agent_shared_group, agent_user,
};
use manifests::ocm::{CsrReason, ManagedCluster, ManagedClusterAddOn};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use super::Settings;
use crate::plan::{Plan, Step};

/// Message of an approval; upstream's words.
const APPROVED: &str = "Auto approving addon agent certificate.";

/// What the decision about one request needs.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Settings of the add-on.
    pub settings: Arc<Settings>,
    /// The request.
    pub csr: Arc<CertificateSigningRequest>,
    /// The ManagedCluster that [`cluster_of`] names.
    pub cluster: Option<Arc<ManagedCluster>>,
    /// The ManagedClusterAddOn `ocloud` in the namespace of that cluster.
    pub addon: Option<Arc<ManagedClusterAddOn>>,
}

/// What to do with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Not of our add-on, or decided already.
    Ignore,
    /// The cluster or its add-on is not known (yet); their arrival wakes us.
    Wait,
    /// All checks passed.
    Approve,
    /// It names our add-on, but a check failed.
    Deny(CsrReason, String),
}

/// The cluster that a request says it is for. A hint, to find the objects to check it against.
pub fn cluster_of(csr: &CertificateSigningRequest) -> Option<&str> {
    label(csr, LABEL_CLUSTER_NAME)
}

/// One pass over one request.
pub fn decide(seen: &Seen) -> Plan<()> {
    let name = seen.csr.metadata.name.clone().unwrap_or_default();
    let (condition, reason, message) = match judge(seen) {
        Verdict::Ignore | Verdict::Wait => return Plan::default(),
        Verdict::Approve => ("Approved", CsrReason::AutoApproved, APPROVED.to_owned()),
        Verdict::Deny(reason, message) => ("Denied", reason, message),
    };
    let step = Step::Approve { name, condition, reason: reason.to_string(), message };
    Plan { steps: vec![step], ..Plan::default() }
}

/// Judges a request.
pub fn judge(seen: &Seen) -> Verdict {
    let csr = &*seen.csr;
    if label(csr, LABEL_ADDON_NAME) != Some(ADDON) || is_decided(csr) {
        return Verdict::Ignore;
    }
    let Some(cluster) = cluster_of(csr).filter(|c| !c.is_empty()) else {
        let text =
            format!("the request names add-on {ADDON}, but no label {LABEL_CLUSTER_NAME} names its cluster");
        return Verdict::Deny(CsrReason::ClusterNotNamed, text);
    };
    let (Some(managed), Some(addon)) = (&seen.cluster, &seen.addon) else { return Verdict::Wait };
    match check(seen, cluster, managed, addon) {
        Ok(()) => Verdict::Approve,
        Err((reason, message)) => Verdict::Deny(reason, message),
    }
}

type Refusal = (CsrReason, String);

fn refuse<T>(reason: CsrReason, message: String) -> Result<T, Refusal> {
    Err((reason, message))
}

fn label<'a>(csr: &'a CertificateSigningRequest, key: &str) -> Option<&'a str> {
    csr.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn is_decided(csr: &CertificateSigningRequest) -> bool {
    let Some(status) = &csr.status else { return false };
    let decided = |type_: &str| matches!(type_, "Approved" | "Denied" | "Failed");
    status.certificate.is_some() || status.conditions.iter().flatten().any(|c| decided(&c.type_))
}

fn check(
    seen: &Seen,
    cluster: &str,
    managed: &ManagedCluster,
    addon: &ManagedClusterAddOn,
) -> Result<(), Refusal> {
    if managed.metadata.name.as_deref() != Some(cluster)
        || addon.metadata.namespace.as_deref() != Some(cluster)
    {
        // The caller looked up the wrong objects; never approve on their strength.
        return refuse(CsrReason::WrongRequester, format!("{cluster} is not the cluster that was looked up"));
    }
    if !managed.spec.hub_accepts_client {
        return refuse(CsrReason::ClusterNotAccepted, format!("the hub does not accept cluster {cluster}"));
    }
    if managed.metadata.deletion_timestamp.is_some() || addon.metadata.deletion_timestamp.is_some() {
        return refuse(CsrReason::Leaving, format!("add-on {ADDON} is being removed from cluster {cluster}"));
    }
    check_requester(seen, cluster)?;
    check_terms(&seen.settings, &seen.csr)?;
    check_request(cluster, &seen.csr.spec.request.0)
}

/// The requester is exactly `system:open-cluster-management:<cluster>:<agent>` and in the cluster's group; or it is
/// the gRPC server of this hub, which vouches for such a name in an annotation.
fn check_requester(seen: &Seen, cluster: &str) -> Result<(), Refusal> {
    let spec = &seen.csr.spec;
    let user = spec.username.as_deref().unwrap_or_default();
    let vouched = seen.settings.grpc_requester.as_deref().is_some_and(|grpc| grpc == user);
    let agent = if vouched {
        let annotations = seen.csr.metadata.annotations.as_ref();
        annotations.and_then(|a| a.get(ANNOTATION_CSR_USER)).map_or("", String::as_str)
    } else {
        user
    };
    let is_agent = agent
        .strip_prefix("system:open-cluster-management:")
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(c, name)| c == cluster && !name.is_empty() && !name.contains(':'));
    if !is_agent {
        let text = format!("requester {agent:?} is not the registration agent of cluster {cluster}");
        return refuse(CsrReason::WrongRequester, text);
    }
    let group = format!("system:open-cluster-management:{cluster}");
    if !vouched && !spec.groups.iter().flatten().any(|g| *g == group) {
        return refuse(CsrReason::WrongRequester, format!("requester {user:?} is not in group {group}"));
    }
    Ok(())
}

/// Signer, usages and lifetime.
fn check_terms(settings: &Settings, csr: &CertificateSigningRequest) -> Result<(), Refusal> {
    let spec = &csr.spec;
    if spec.signer_name != KUBE_CLIENT_SIGNER {
        let text = format!("signer {:?} is not {KUBE_CLIENT_SIGNER}", spec.signer_name);
        return refuse(CsrReason::WrongSigner, text);
    }
    let usages: Vec<&str> = spec.usages.iter().flatten().map(String::as_str).collect();
    let extra =
        usages.iter().find(|u| !matches!(**u, "digital signature" | "key encipherment" | "client auth"));
    if let Some(extra) = extra {
        return refuse(CsrReason::WrongUsages, format!("usage {extra:?} is not one of a client"));
    }
    if !usages.contains(&"client auth") {
        return refuse(CsrReason::WrongUsages, "usage \"client auth\" is missing".to_owned());
    }
    let (least, most) = settings.certificate_seconds;
    match spec.expiration_seconds {
        Some(s) if s < least || s > most => {
            refuse(CsrReason::WrongLifetime, format!("{s} seconds are not between {least} and {most}"))
        }
        _ => Ok(()),
    }
}

/// The request itself: subject and extensions.
fn check_request(cluster: &str, pem: &[u8]) -> Result<(), Refusal> {
    let malformed = |text: &str| (CsrReason::MalformedRequest, text.to_owned());
    let mut blocks = Pem::iter_from_buffer(pem);
    let block = blocks.next().and_then(Result::ok).ok_or_else(|| malformed("the request is not PEM"))?;
    if blocks.next().is_some() {
        return Err(malformed("the request has more than one PEM block"));
    }
    if block.label != "CERTIFICATE REQUEST" {
        return Err(malformed("the PEM block is not a CERTIFICATE REQUEST"));
    }
    let Ok((rest, request)) = X509CertificationRequest::from_der(&block.contents) else {
        return Err(malformed("the PEM block does not hold a certificate request"));
    };
    if !rest.is_empty() {
        return Err(malformed("the PEM block holds more than a certificate request"));
    }
    check_subject(cluster, &request)?;
    check_extensions(&request)
}

fn check_subject(cluster: &str, request: &X509CertificationRequest<'_>) -> Result<(), Refusal> {
    let mut names = Vec::new();
    let mut organizations = Vec::new();
    for attribute in request.certification_request_info.subject.iter_attributes() {
        let text = attribute.as_str().unwrap_or("\u{fffd}");
        let kind = attribute.attr_type();
        if *kind == OID_X509_COMMON_NAME {
            names.push(text);
        } else if *kind == OID_X509_ORGANIZATION_NAME {
            organizations.push(text);
        } else {
            let text = format!("the subject has an attribute {kind} beside common name and organizations");
            return refuse(CsrReason::UnexpectedContent, text);
        }
    }
    let user = agent_user(cluster);
    if names != [user.as_str()] {
        return refuse(CsrReason::WrongCommonName, format!("common name {names:?} is not {user}"));
    }
    let (own, shared) = (agent_cluster_group(cluster), agent_shared_group());
    let mut wanted = [own.as_str(), shared.as_str()];
    wanted.sort_unstable();
    organizations.sort_unstable();
    if organizations != wanted {
        let text = format!("organizations {organizations:?} are not {wanted:?}");
        return refuse(CsrReason::WrongOrganizations, text);
    }
    Ok(())
}

/// All attributes are walked: a signer may read a second list of extensions that a helper would not show.
fn check_extensions(request: &X509CertificationRequest<'_>) -> Result<(), Refusal> {
    for attribute in request.certification_request_info.iter_attributes() {
        let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() else {
            let text = format!("the request has an attribute {}", attribute.oid);
            return refuse(CsrReason::UnexpectedContent, text);
        };
        for extension in &requested.extensions {
            match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(names) => {
                    let strange = names
                        .general_names
                        .iter()
                        .find(|n| !matches!(n, GeneralName::DNSName(d) if *d == AGENT_DNS_NAME));
                    if let Some(strange) = strange {
                        let text = format!("alternative name {strange} is not DNS {AGENT_DNS_NAME}");
                        return refuse(CsrReason::WrongAlternativeNames, text);
                    }
                }
                // The signer takes usages from the object, where they have been checked.
                ParsedExtension::KeyUsage(_) | ParsedExtension::ExtendedKeyUsage(_) => {}
                _ => {
                    let text = format!("the request asks for extension {}", extension.oid);
                    return refuse(CsrReason::UnexpectedContent, text);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "csr_tests.rs"]
mod tests;
