//! One kube-apiserver with its controller manager: the hub, or a spoke. The API server runs with RBAC and an audit log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::request::Request;
use kube::{Api, Client};
use serde_json::json;

use super::apply;
use super::audit::Audit;
use super::base::Base;
use super::cache;
use super::kubeconfig::Access;
use super::pki::Pki;
use super::supervisor::{Proc, Program, Rank};
use super::tools::Tool;

/// Group of the identity with which a klusterlet asks to join.
pub const BOOTSTRAP_GROUP: &str = "ocm-bootstrappers";

/// Users that log in with a static token, and their group. Each process of the lab has its own user, so that the
/// audit log tells who wrote what.
const USERS: [(&str, &str); 8] = [
    ("admin", "system:masters"),
    ("kube-controller-manager", "system:masters"),
    ("ocm-registration", "system:masters"),
    ("ocm-placement", "system:masters"),
    ("ocm-addon", "system:masters"),
    ("governance", "system:masters"),
    ("simulator", "system:masters"),
    ("ocm-bootstrap", BOOTSTRAP_GROUP),
];

/// Controllers that a cluster of the lab has. Nothing runs pods.
const CONTROLLERS: &str = "certificatesigningrequest-signing-controller,certificatesigningrequest-cleaner-controller,\
    clusterrole-aggregation-controller,garbage-collector-controller,namespace-controller,\
    serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller";

const AUDIT_POLICY: &str = r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[
{"level":"None","nonResourceURLs":["/healthz*","/livez*","/readyz*","/openapi*"]},
{"level":"Metadata"}]}"#;

/// A running API server and its controller manager.
#[derive(Clone)]
pub struct ApiServer {
    name: String,
    dir: PathBuf,
    url: String,
    pki: Pki,
    tokens: BTreeMap<&'static str, String>,
    server: Proc,
    controllers: Proc,
    client: Client,
    started: Duration,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").field("name", &self.name).field("url", &self.url).finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Starts the API server `name` (its objects lie under the etcd prefix of the same name) and its controller
    /// manager; returns when the API server is ready. The controllers begin to work some seconds later.
    pub async fn start(base: &Base, name: &str) -> Result<Self> {
        let begin = Instant::now();
        let dir = base.dir().join(name);
        let pki = Pki::create(&dir, name)?;
        let tokens: BTreeMap<_, _> =
            USERS.iter().map(|(user, _)| (*user, uuid::Uuid::new_v4().simple().to_string())).collect();
        let lines = USERS
            .iter()
            .filter_map(|(user, group)| Some(format!("{},{user},{user},{group}\n", tokens.get(user)?)));
        fs::write(dir.join("tokens.csv"), lines.collect::<String>())?;
        fs::write(dir.join("audit-policy.json"), AUDIT_POLICY)?;
        let port = cache::free_port()?;
        let url = format!("https://127.0.0.1:{port}");
        let server = base.spawn(Self::server_program(base, name, &dir, &pki, port)?).await?;
        let access = Access::new(name, &url, pki.ca(), tokens.get("admin").context("admin is a user")?);
        let client = access.client().await?;
        server.until_ready("/readyz answers", Duration::from_mins(1), || is_ready(&client)).await?;
        let started = begin.elapsed();
        let controllers =
            Access::new(name, &url, pki.ca(), tokens.get("kube-controller-manager").context("a user")?);
        let kubeconfig = dir.join("kube-controller-manager.kubeconfig");
        controllers.write(&kubeconfig)?;
        let controllers = base.spawn(Self::controllers_program(base, name, &kubeconfig, &pki)?).await?;
        let cluster =
            Self { name: name.to_owned(), dir, url, pki, tokens, server, controllers, client, started };
        cluster.access("admin")?.write(&cluster.admin_kubeconfig())?;
        Ok(cluster)
    }

    fn server_program(base: &Base, name: &str, dir: &Path, pki: &Pki, port: u16) -> Result<Program> {
        let program = Program::new(
            format!("{name}-kube-apiserver"),
            base.tools().path(Tool::ApiServer)?,
            Rank::ApiServer,
        )
        .env("GOGC", "40")
        .flag("--etcd-servers", base.etcd_url())
        .flag("--etcd-prefix", format!("/{name}"))
        .flag("--secure-port", port)
        .flag("--bind-address", "127.0.0.1")
        .flag("--tls-cert-file", pki.serving_file().display())
        .flag("--tls-private-key-file", pki.serving_key_file().display())
        .flag("--client-ca-file", pki.ca_file().display())
        .flag("--requestheader-client-ca-file", pki.ca_file().display())
        .flag("--requestheader-allowed-names", "front-proxy-client")
        .flag("--cert-dir", dir.display())
        .flag("--service-account-key-file", pki.account_public_key_file().display())
        .flag("--service-account-signing-key-file", pki.account_key_file().display())
        .flag("--service-account-issuer", "https://kubernetes.default.svc")
        .flag("--token-auth-file", dir.join("tokens.csv").display())
        .flag("--authorization-mode", "RBAC")
        .flag("--service-cluster-ip-range", "10.0.0.0/24")
        .flag("--disable-admission-plugins", "ServiceAccount")
        .flag("--audit-policy-file", dir.join("audit-policy.json").display())
        .flag("--audit-log-path", dir.join("audit.log").display())
        .flag("--audit-log-maxsize", 100_000)
        .arg("--allow-privileged");
        Ok(program)
    }

    fn controllers_program(base: &Base, name: &str, kubeconfig: &Path, pki: &Pki) -> Result<Program> {
        let path = base.tools().path(Tool::ControllerManager)?;
        let program = Program::new(format!("{name}-kube-controller-manager"), path, Rank::Controller)
            .flag("--kubeconfig", kubeconfig.display())
            .flag("--authentication-kubeconfig", kubeconfig.display())
            .flag("--authorization-kubeconfig", kubeconfig.display())
            .flag("--bind-address", "127.0.0.1")
            .flag("--secure-port", cache::free_port()?)
            .arg("--leader-elect=false")
            .flag("--cluster-signing-cert-file", pki.ca_file().display())
            .flag("--cluster-signing-key-file", pki.ca_key_file().display())
            .flag("--root-ca-file", pki.ca_file().display())
            .flag("--service-account-private-key-file", pki.account_key_file().display())
            .arg("--use-service-account-credentials=false")
            .arg(format!("--controllers={CONTROLLERS}"));
        Ok(program)
    }

    /// Name of the cluster in the lab, which is also the folder of its files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Folder of its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The kube-apiserver process, to kill, freeze and start again.
    pub fn server(&self) -> &Proc {
        &self.server
    }

    /// The kube-controller-manager process.
    pub fn controllers(&self) -> &Proc {
        &self.controllers
    }

    /// How long the API server took to be ready.
    pub fn start_time(&self) -> Duration {
        self.started
    }

    /// The administrator's client, on the lab's runtime.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Access of one of the users with a static token.
    pub fn access(&self, user: &str) -> Result<Access> {
        let token =
            self.tokens.get(user).with_context(|| format!("{user} is not a user of {}", self.name))?;
        Ok(Access::new(&self.name, &self.url, self.pki.ca(), token))
    }

    /// A client of one of the users with a static token; simulators use `simulator`.
    pub async fn client_of(&self, user: &str) -> Result<Client> {
        self.access(user)?.client().await
    }

    /// Writes a kubeconfig for a user with a static token and returns its path.
    pub fn kubeconfig_of(&self, user: &str) -> Result<PathBuf> {
        let path = self.dir.join(format!("{user}.kubeconfig"));
        self.access(user)?.write(&path)?;
        Ok(path)
    }

    /// For people: `kubectl --kubeconfig`.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.dir.join("admin.kubeconfig")
    }

    /// Access as a ServiceAccount, by a token of one day from the `TokenRequest` API.
    pub async fn access_as(&self, namespace: &str, account: &str) -> Result<Access> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), namespace);
        let wanted = TokenRequest {
            spec: Some(TokenRequestSpec { expiration_seconds: Some(86_400), ..Default::default() }),
            ..Default::default()
        };
        let answer = accounts
            .create_token_request(account, &PostParams::default(), &wanted)
            .await
            .with_context(|| format!("token of ServiceAccount {namespace}/{account} on {}", self.name))?;
        let token = answer
            .status
            .context("the answer to a TokenRequest has a status")?
            .token
            .context("the answer to a TokenRequest has a token")?;
        Ok(Access::new(&self.name, &self.url, self.pki.ca(), &token))
    }

    /// Writes a kubeconfig as a ServiceAccount (see [`Self::access_as`]) and returns its path.
    pub async fn kubeconfig_as(&self, namespace: &str, account: &str) -> Result<PathBuf> {
        let path = self.dir.join(format!("{namespace}.{account}.kubeconfig"));
        self.access_as(namespace, account).await?.write(&path)?;
        Ok(path)
    }

    /// Makes a namespace if it is not there.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        namespaces.patch(name, &PatchParams::apply(apply::MANAGER), &Patch::Apply(namespace)).await?;
        Ok(())
    }

    /// Reader of the audit log.
    pub fn audit(&self) -> Audit {
        Audit::new(self.dir.join("audit.log"), self.client())
    }

    /// Waits until the API server answers again, after a restart of its process.
    pub async fn until_ready(&self, limit: Duration) -> Result<()> {
        self.server.until_ready("/readyz answers", limit, || is_ready(&self.client)).await
    }
}

async fn is_ready(client: &Client) -> bool {
    let Ok(request) = Request::new("").get("readyz", &kube::api::GetParams::default()) else {
        return false;
    };
    let answer = tokio::time::timeout(Duration::from_secs(2), client.request_text(request)).await;
    matches!(answer, Ok(Ok(_)))
}
