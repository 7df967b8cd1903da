//! The hub: an API server with the real controllers of Open Cluster Management.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::apiserver::{ApiServer, BOOTSTRAP_GROUP};
use super::apply;
use super::base::Base;
use super::cache;
use super::progress;
use super::supervisor::{Proc, Program, Rank};
use super::tools::Tool;
use super::wait;

/// Namespace of OCM's own leases on the hub.
const OCM_NAMESPACE: &str = "open-cluster-management-hub";

/// Namespace of the product on the hub (its default).
pub const OPERATOR_NAMESPACE: &str = "oran-o2ims";

/// CRDs of OCM that the hub has, as folders and beginnings of file names of its `api` module. `v1alpha1` of the add-on
/// group needs no conversion webhook.
const CRDS: [(&str, &str); 6] = [
    ("cluster/v1", ""),
    ("cluster/v1beta2", ""),
    ("cluster/v1beta1", ""),
    ("cluster/v1alpha1", "0000_05"),
    ("work/v1", "0000_00"),
    ("addon/v1alpha1", ""),
];

/// Which CRDs the hub gets besides those of OCM.
#[derive(Clone, Debug, Default)]
pub enum Crds {
    /// Those that we generate: the product's own, and those of others that the lab needs.
    #[default]
    Ours,
    /// All YAML files below a folder, to compare with the published ones.
    Folder(PathBuf),
}

impl Crds {
    fn objects(&self) -> Result<Vec<DynamicObject>> {
        let crds = match self {
            Self::Folder(folder) => return apply::folder(folder),
            Self::Ours => manifests::crds::own().into_iter().chain(manifests::crds::lab()),
        };
        crds.map(|crd| apply::object(serde_json::to_value(crd)?)).collect()
    }
}

/// A running hub.
#[derive(Clone, Debug)]
pub struct Hub {
    api: ApiServer,
    controllers: Vec<Proc>,
}

impl std::ops::Deref for Hub {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.api
    }
}

impl Hub {
    /// Starts API server, controller manager, the CRDs (also those of the product), and OCM's controllers; returns when the set `global` exists,
    /// that is, when OCM works.
    pub async fn start(base: &Base, crds: &Crds) -> Result<Self> {
        let api = ApiServer::start(base, "hub").await?;
        let crds = ocm_crds(base)?.into_iter().chain(crds.objects()?).collect();
        apply::crds(&api.client(), crds).await.context("the hub's CRDs")?;
        for namespace in [OCM_NAMESPACE, OPERATOR_NAMESPACE] {
            api.namespace(namespace).await?;
        }
        apply::all(&api.client(), bootstrap_rights()?).await?;
        let mut controllers = Vec::new();
        for (tool, verb, user, extra) in [
            (
                Tool::Registration,
                "controller",
                "ocm-registration",
                &[
                    "--feature-gates=ManagedClusterAutoApproval=true",
                    "--auto-approved-csr-users=ocm-bootstrap",
                ][..],
            ),
            (Tool::Placement, "controller", "ocm-placement", &[][..]),
            (Tool::Addon, "manager", "ocm-addon", &[][..]),
        ] {
            let program =
                Program::new(format!("hub-{}", tool.name()), base.tools().path(tool)?, Rank::Controller)
                    .arg(verb)
                    .flag("--kubeconfig", api.kubeconfig_of(user)?.display())
                    .arg("--disable-leader-election")
                    .flag("--namespace", OCM_NAMESPACE)
                    .flag("--listen", format!("127.0.0.1:{}", cache::free_port()?))
                    .args(extra.iter().copied());
            controllers.push(base.spawn(program).await?);
        }
        let hub = Self { api, controllers };
        hub.until_ocm_works().await?;
        Ok(hub)
    }

    async fn until_ocm_works(&self) -> Result<()> {
        let sets = super::dynamic(
            "cluster.open-cluster-management.io/v1beta2",
            "ManagedClusterSet",
            "managedclustersets",
        );
        let api: Api<DynamicObject> = Api::all_with(self.client(), &sets);
        let works = wait::present(&api, "global", Duration::from_mins(1));
        let ends =
            futures::future::select_all(self.controllers.iter().map(|process| Box::pin(process.wait())));
        tokio::select! {
            set = works => set.map(drop).context("OCM's controllers"),
            (exit, index, _) = ends => {
                let process = self.controllers.get(index).context("index of a controller")?;
                anyhow::bail!("{} ended with {}:\n{}", process.name(), exit?, process.log_end(15))
            }
        }
    }

    /// OCM's controllers: registration, placement, add-on manager.
    pub fn ocm(&self) -> &[Proc] {
        &self.controllers
    }

    /// Installs CRDs of the product or of what the lab simulates, and waits until they are served.
    pub async fn install_crds(&self, crds: Vec<DynamicObject>) -> Result<()> {
        apply::crds(&self.client(), crds).await
    }

    /// Applies the manager's rights from the chart as they are; returns namespace and name of its ServiceAccount.
    pub async fn install_rights(&self, chart: &Path) -> Result<(String, String)> {
        let objects = rights(chart)?;
        let account = account(&objects)
            .with_context(|| format!("no ServiceAccount in the rights below {}", chart.display()))?;
        for object in &objects {
            if let Some(namespace) = object.namespace() {
                self.namespace(&namespace).await?;
            }
        }
        apply::all(&self.client(), objects).await.context("the manager's rights")?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), &account.0);
        wait::present(&accounts, &account.1, Duration::from_secs(10)).await?;
        progress::line(&format!("lab: the manager's account is {}/{}", account.0, account.1));
        Ok(account)
    }

    /// A client that simulators use, so that the audit log tells their writes from those of the product.
    pub async fn simulator(&self) -> Result<Client> {
        self.client_of("simulator").await
    }
}

fn ocm_crds(base: &Base) -> Result<Vec<DynamicObject>> {
    let mut crds = Vec::new();
    for (folder, start) in CRDS {
        let dir = base.tools().assets().join("api").join(folder);
        for entry in std::fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".crd.yaml") && name.starts_with(start) {
                crds.extend(apply::folder(&path)?);
            }
        }
    }
    Ok(crds)
}

/// What a cluster that wants to join may do before it is accepted. Nothing more.
fn bootstrap_rights() -> Result<Vec<DynamicObject>> {
    let name = "lab:ocm-bootstrap";
    let rbac = "rbac.authorization.k8s.io";
    [
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": [
            {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get", "list", "watch"]},
            {"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"], "verbs": ["get", "create", "list", "watch"]},
        ]}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": BOOTSTRAP_GROUP}]}),
    ]
    .into_iter()
    .map(apply::object)
    .collect()
}

/// The plain (not templated) files below `chart` that give rights: accounts, roles, bindings.
fn rights(chart: &Path) -> Result<Vec<DynamicObject>> {
    let mut objects = Vec::new();
    for file in apply::files(chart)? {
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        if text.contains("{{") || !text.contains("kind:") {
            continue;
        }
        let all = apply::documents(&text).with_context(|| format!("in {}", file.display()))?;
        objects.extend(all.into_iter().filter(|object| {
            let kind = object.types.as_ref().map_or("", |types| types.kind.as_str());
            matches!(kind, "ServiceAccount" | "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding")
        }));
    }
    Ok(objects)
}

fn account(objects: &[DynamicObject]) -> Option<(String, String)> {
    let is_account =
        |object: &&DynamicObject| object.types.as_ref().is_some_and(|types| types.kind == "ServiceAccount");
    let account = objects.iter().find(is_account)?;
    Some((account.namespace().unwrap_or_else(|| OPERATOR_NAMESPACE.to_owned()), account.name_any()))
}
