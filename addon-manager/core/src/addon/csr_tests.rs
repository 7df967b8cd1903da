use super::*;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequestCondition, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use rcgen::{Attribute, CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, SanType};
use rstest::rstest;

/// As the registration agent of OCM writes it: both organizations in one multi-valued name, EC P-256.
const REAL: &str = "-----BEGIN CERTIFICATE REQUEST-----
MIIBzTCCAXMCAQAwgcsxdzAyBgNVBAoTK3N5c3RlbTpvcGVuLWNsdXN0ZXItbWFu
YWdlbWVudDphZGRvbjpvY2xvdWQwQQYDVQQKEzpzeXN0ZW06b3Blbi1jbHVzdGVy
LW1hbmFnZW1lbnQ6Y2x1c3RlcjpzcG9rZTE6YWRkb246b2Nsb3VkMVAwTgYDVQQD
E0dzeXN0ZW06b3Blbi1jbHVzdGVyLW1hbmFnZW1lbnQ6Y2x1c3RlcjpzcG9rZTE6
YWRkb246b2Nsb3VkOmFnZW50Om9jbG91ZDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABHMGVJxhJVu9xL12hXTso8cAZuLcpKsKH9YytIB82xlduLMZaDo1lXqZWPTO
U4QR9XjXKidBV+OYBSpS9KYgBaigRTBDBgkqhkiG9w0BCQ4xNjA0MDIGA1UdEQQr
MCmCJ29jbG91ZC5hZGRvbi5vcGVuLWNsdXN0ZXItbWFuYWdlbWVudC5pbzAKBggq
hkjOPQQDAgNIADBFAiEAhMRL0Fk6lAsoMNe9EKTqI2OI7EW7rnsO9azY14jX+vsC
IGi6zyYU1pnq10LJuu5Tx9c58NcuAtXBtTA1BJKdoxc/
-----END CERTIFICATE REQUEST-----
";

const CLUSTER: &str = "spoke1";

/// Parts of a request that a test bends.
struct Forge {
    common_name: String,
    organizations: Vec<String>,
    alternative_names: Vec<SanType>,
    unit: Option<&'static str>,
    extensions: Vec<CustomExtension>,
    attributes: Vec<Attribute>,
}

fn forge() -> Forge {
    Forge {
        common_name: agent_user(CLUSTER),
        organizations: vec![agent_cluster_group(CLUSTER), agent_shared_group()],
        alternative_names: vec![dns(AGENT_DNS_NAME)],
        unit: None,
        extensions: Vec::new(),
        attributes: Vec::new(),
    }
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

impl Forge {
    fn pem(self) -> String {
        let mut params = CertificateParams::default();
        let mut name = DistinguishedName::new();
        // rcgen keeps one value per type; the same OID under other types makes further ones.
        let kinds = [
            DnType::OrganizationName,
            DnType::CustomDnType(vec![2, 5, 4, 10]),
            DnType::CustomDnType(vec![2, 5, 4, 10, 0]),
        ];
        for (kind, organization) in kinds.into_iter().zip(&self.organizations) {
            name.push(kind, organization.as_str());
        }
        if let Some(unit) = self.unit {
            name.push(DnType::OrganizationalUnitName, unit);
        }
        name.push(DnType::CommonName, self.common_name.as_str());
        params.distinguished_name = name;
        params.subject_alt_names = self.alternative_names;
        params.custom_extensions = self.extensions;
        let key = KeyPair::generate().unwrap();
        params.serialize_request_with_attributes(&key, self.attributes).unwrap().pem().unwrap()
    }
}

fn seen() -> Seen {
    let mut cluster = ManagedCluster::default();
    cluster.metadata.name = Some(CLUSTER.into());
    cluster.spec.hub_accepts_client = true;
    let mut addon = ManagedClusterAddOn::default();
    addon.metadata.name = Some(ADDON.into());
    addon.metadata.namespace = Some(CLUSTER.into());
    Seen {
        settings: Arc::new(Settings::new("agent")),
        csr: Arc::new(csr(REAL)),
        cluster: Some(Arc::new(cluster)),
        addon: Some(Arc::new(addon)),
    }
}

fn csr(pem: &str) -> CertificateSigningRequest {
    let strings = |list: &[&str]| Some(list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
    let labels = [(LABEL_ADDON_NAME, ADDON), (LABEL_CLUSTER_NAME, CLUSTER)];
    CertificateSigningRequest {
        metadata: ObjectMeta {
            name: Some("addon-spoke1-ocloud-xf8s6".into()),
            labels: Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(pem.as_bytes().to_vec()),
            signer_name: KUBE_CLIENT_SIGNER.into(),
            usages: strings(&["digital signature", "key encipherment", "client auth"]),
            username: Some("system:open-cluster-management:spoke1:rxzk6".into()),
            groups: strings(&[
                "system:open-cluster-management:spoke1",
                "system:open-cluster-management:managed-clusters",
                "system:authenticated",
            ]),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    }
}

fn edit(seen: &mut Seen, change: impl FnOnce(&mut CertificateSigningRequest)) {
    change(Arc::make_mut(&mut seen.csr));
}

fn refused(seen: &Seen) -> CsrReason {
    match judge(seen) {
        Verdict::Deny(reason, message) => {
            assert!(!message.is_empty());
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn s07_t9_the_real_request_is_approved_with_upstreams_words() {
    let plan = decide(&seen());
    let want = Step::Approve {
        name: "addon-spoke1-ocloud-xf8s6".into(),
        condition: "Approved",
        reason: "AutoApprovedByHubCSRApprovingController".into(),
        message: "Auto approving addon agent certificate.".into(),
    };
    assert_eq!(plan.steps, [want]);
}

#[test]
fn s07_t9_an_unbent_forgery_is_approved_so_that_the_others_prove_something() {
    let mut seen = seen();
    edit(&mut seen, |c| c.spec.request = ByteString(forge().pem().into_bytes()));
    assert_eq!(judge(&seen), Verdict::Approve);
    edit(&mut seen, |c| {
        let plain = Forge { alternative_names: Vec::new(), ..forge() };
        c.spec.request = ByteString(plain.pem().into_bytes());
        c.spec.expiration_seconds = Some(31_536_000);
    });
    assert_eq!(judge(&seen), Verdict::Approve);
}

/// T9, the request's content.
#[rstest]
#[case::other_cluster(Forge { common_name: agent_user("spoke2"), ..forge() }, CsrReason::WrongCommonName)]
#[case::other_agent(Forge { common_name: agent_user(CLUSTER) + "x", ..forge() }, CsrReason::WrongCommonName)]
#[case::admin(Forge { common_name: "admin".into(), ..forge() }, CsrReason::WrongCommonName)]
#[case::masters(
    Forge { organizations: vec!["system:masters".into(), agent_shared_group()], ..forge() },
    CsrReason::WrongOrganizations
)]
#[case::one_more(
    Forge {
        organizations: vec![agent_cluster_group(CLUSTER), agent_shared_group(), "system:masters".into()],
        ..forge()
    },
    CsrReason::UnexpectedContent // rcgen needs another type for a third one
)]
#[case::one_less(Forge { organizations: vec![agent_cluster_group(CLUSTER)], ..forge() }, CsrReason::WrongOrganizations)]
#[case::twice(
    Forge { organizations: vec![agent_shared_group(), agent_shared_group()], ..forge() },
    CsrReason::WrongOrganizations
)]
#[case::other_clusters_group(
    Forge { organizations: vec![agent_cluster_group("spoke2"), agent_shared_group()], ..forge() },
    CsrReason::WrongOrganizations
)]
#[case::unit(Forge { unit: Some("system:masters"), ..forge() }, CsrReason::UnexpectedContent)]
#[case::other_dns(
    Forge { alternative_names: vec![dns(AGENT_DNS_NAME), dns("kubernetes.default.svc")], ..forge() },
    CsrReason::WrongAlternativeNames
)]
#[case::address(
    Forge { alternative_names: vec![SanType::IpAddress([10, 0, 0, 1].into())], ..forge() },
    CsrReason::WrongAlternativeNames
)]
#[case::mail(
    Forge { alternative_names: vec![SanType::Rfc822Name("a@b".try_into().unwrap())], ..forge() },
    CsrReason::WrongAlternativeNames
)]
#[case::wants_to_be_a_ca(
    Forge {
        extensions: vec![CustomExtension::from_oid_content(&[2, 5, 29, 19], vec![0x30, 3, 1, 1, 0xff])],
        ..forge()
    },
    CsrReason::UnexpectedContent
)]
#[case::password(
    Forge {
        attributes: vec![Attribute { oid: &[1, 2, 840, 113_549, 1, 9, 7], values: vec![0x31, 3, 0x0c, 1, b'x'] }],
        ..forge()
    },
    CsrReason::UnexpectedContent
)]
#[case::second_list_of_extensions(
    Forge {
        attributes: vec![Attribute {
            oid: &[1, 2, 840, 113_549, 1, 9, 14],
            // SET { SEQUENCE { SEQUENCE { OID subjectAltName, OCTET STRING { SEQUENCE { [2] "evil" } } } } }
            values: vec![
                0x31, 0x13, 0x30, 0x11, 0x30, 0x0f, 6, 3, 0x55, 0x1d, 0x11, 4, 8, 0x30, 6, 0x82, 4, b'e', b'v', b'i',
                b'l',
            ],
        }],
        ..forge()
    },
    CsrReason::WrongAlternativeNames
)]
fn s07_t9_forged_content_is_denied(#[case] forged: Forge, #[case] want: CsrReason) {
    let mut seen = seen();
    edit(&mut seen, |c| c.spec.request = ByteString(forged.pem().into_bytes()));
    assert_eq!(refused(&seen), want);
}

/// T9, what surrounds the request.
#[rstest]
#[case::prefix_of_another_cluster(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:spoke:x".into());
}, CsrReason::WrongRequester)]
#[case::longer_cluster(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:spoke11:x".into());
}, CsrReason::WrongRequester)]
#[case::no_agent(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:spoke1".into());
}, CsrReason::WrongRequester)]
#[case::empty_agent(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:spoke1:".into());
}, CsrReason::WrongRequester)]
#[case::another_addon_of_the_cluster(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:cluster:spoke1:addon:x:agent:x".into());
}, CsrReason::WrongRequester)]
#[case::colons(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:open-cluster-management:spoke1:a:b".into());
}, CsrReason::WrongRequester)]
#[case::no_group(|c: &mut CertificateSigningRequest| {
    c.spec.groups = Some(vec!["system:authenticated".into()]);
}, CsrReason::WrongRequester)]
#[case::group_of_another_cluster(|c: &mut CertificateSigningRequest| {
    c.spec.groups = Some(vec!["system:open-cluster-management:spoke11".into()]);
}, CsrReason::WrongRequester)]
#[case::unconfigured_grpc(|c: &mut CertificateSigningRequest| {
    c.spec.username = Some("system:serviceaccount:open-cluster-management-hub:grpc-server-sa".into());
    let name = "system:open-cluster-management:spoke1:x".to_owned();
    c.metadata.annotations = Some([(ANNOTATION_CSR_USER.to_owned(), name)].into());
}, CsrReason::WrongRequester)]
#[case::signer(|c: &mut CertificateSigningRequest| {
    c.spec.signer_name = "kubernetes.io/kube-apiserver-client-kubelet".into();
}, CsrReason::WrongSigner)]
#[case::server_usage(|c: &mut CertificateSigningRequest| {
    c.spec.usages.get_or_insert_default().push("server auth".into());
}, CsrReason::WrongUsages)]
#[case::no_client_usage(|c: &mut CertificateSigningRequest| {
    c.spec.usages = Some(vec!["digital signature".into()]);
}, CsrReason::WrongUsages)]
#[case::no_usage(|c: &mut CertificateSigningRequest| c.spec.usages = None, CsrReason::WrongUsages)]
#[case::too_long(|c: &mut CertificateSigningRequest| {
    c.spec.expiration_seconds = Some(31_536_001);
}, CsrReason::WrongLifetime)]
#[case::too_short(|c: &mut CertificateSigningRequest| c.spec.expiration_seconds = Some(1), CsrReason::WrongLifetime)]
#[case::no_cluster(|c: &mut CertificateSigningRequest| {
    c.metadata.labels.get_or_insert_default().remove(LABEL_CLUSTER_NAME);
}, CsrReason::ClusterNotNamed)]
#[case::garbage(|c: &mut CertificateSigningRequest| {
    c.spec.request = ByteString(b"garbage".to_vec());
}, CsrReason::MalformedRequest)]
#[case::certificate_instead(|c: &mut CertificateSigningRequest| {
    let text = REAL.replace("CERTIFICATE REQUEST", "CERTIFICATE");
    c.spec.request = ByteString(text.into_bytes());
}, CsrReason::MalformedRequest)]
#[case::two_blocks(|c: &mut CertificateSigningRequest| {
    c.spec.request = ByteString(format!("{REAL}{REAL}").into_bytes());
}, CsrReason::MalformedRequest)]
fn s07_t9_wrong_surroundings_are_denied(
    #[case] change: fn(&mut CertificateSigningRequest),
    #[case] want: CsrReason,
) {
    let mut seen = seen();
    edit(&mut seen, change);
    assert_eq!(refused(&seen), want);
    assert!(matches!(decide(&seen).steps.as_slice(), [Step::Approve { condition: "Denied", .. }]));
}

#[test]
fn s07_t9_cluster_and_addon_must_be_there_accepted_and_staying() {
    let now = || Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
    let mut s = seen();
    s.cluster = None;
    assert_eq!(judge(&s), Verdict::Wait);
    s = seen();
    s.addon = None;
    assert_eq!(judge(&s), Verdict::Wait);
    s = seen();
    Arc::make_mut(s.cluster.as_mut().unwrap()).spec.hub_accepts_client = false;
    assert_eq!(refused(&s), CsrReason::ClusterNotAccepted);
    s = seen();
    Arc::make_mut(s.cluster.as_mut().unwrap()).metadata.deletion_timestamp = now();
    assert_eq!(refused(&s), CsrReason::Leaving);
    s = seen();
    Arc::make_mut(s.addon.as_mut().unwrap()).metadata.deletion_timestamp = now();
    assert_eq!(refused(&s), CsrReason::Leaving);
    s = seen();
    Arc::make_mut(s.addon.as_mut().unwrap()).metadata.namespace = Some("spoke2".into());
    assert_eq!(refused(&s), CsrReason::WrongRequester);
}

#[test]
fn s07_t9_what_is_not_ours_or_decided_is_left_alone() {
    let mut s = seen();
    edit(&mut s, |c| {
        c.metadata.labels.get_or_insert_default().insert(LABEL_ADDON_NAME.into(), "other".into());
    });
    assert_eq!(judge(&s), Verdict::Ignore);
    s = seen();
    edit(&mut s, |c| c.metadata.labels = None);
    assert_eq!(judge(&s), Verdict::Ignore);
    for type_ in ["Approved", "Denied", "Failed"] {
        s = seen();
        edit(&mut s, |c| {
            let condition = CertificateSigningRequestCondition { type_: type_.into(), ..Default::default() };
            let conditions = Some(vec![condition]);
            c.status = Some(CertificateSigningRequestStatus { conditions, ..Default::default() });
        });
        assert_eq!(judge(&s), Verdict::Ignore);
        assert!(decide(&s).steps.is_empty());
    }
}

#[test]
fn s07_t9_a_configured_grpc_server_vouches_for_the_name() {
    let mut s = seen();
    let server = "system:serviceaccount:open-cluster-management-hub:grpc-server-sa";
    Arc::make_mut(&mut s.settings).grpc_requester = Some(server.into());
    edit(&mut s, |c| {
        c.spec.username = Some(server.into());
        c.spec.groups = Some(vec!["system:serviceaccounts".into()]);
    });
    assert_eq!(refused(&s), CsrReason::WrongRequester);
    edit(&mut s, |c| {
        let name = "system:open-cluster-management:spoke1:x".to_owned();
        c.metadata.annotations = Some([(ANNOTATION_CSR_USER.to_owned(), name)].into());
    });
    assert_eq!(judge(&s), Verdict::Approve);
    edit(&mut s, |c| {
        let name = "system:open-cluster-management:spoke2:x".to_owned();
        c.metadata.annotations = Some([(ANNOTATION_CSR_USER.to_owned(), name)].into());
    });
    assert_eq!(refused(&s), CsrReason::WrongRequester);
}
