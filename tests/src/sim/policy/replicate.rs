//! Replicas of a root policy in the namespaces of its clusters.

use kube::api::PropagationPolicy;
use serde_json::{Value, json};

use super::super::kinds::{NAMESPACE, POLICY};
use super::super::store::Result;
use super::super::value::{Key, at, entries, flag, is_deleting, items, name, namespace, put};
use super::select::Chosen;
use super::{LONGEST, ROOT_LABEL, Simulator, template};

/// A replica, and the cluster that it is for.
pub(super) struct Replica {
    pub(super) object: Value,
    pub(super) cluster: Value,
    /// Why the hub templates were not resolved.
    pub(super) problem: Option<String>,
}

impl Simulator {
    pub(super) async fn replicate(
        &self,
        key: &Key,
        root: Option<&Value>,
        chosen: &[Chosen],
    ) -> Result<Vec<Replica>> {
        let full_name = format!("{}.{}", key.0, key.1);
        let existing = self.store.list(POLICY, "", &format!("{ROOT_LABEL}={full_name}")).await?;
        let mut replicas = Vec::new();
        let root = root.filter(|r| !is_deleting(r) && !flag(r, "/spec/disabled"));
        if let Some(root) = root.filter(|_| key.0.len() + key.1.len() <= LONGEST) {
            for choice in chosen {
                let old = existing.iter().find(|e| namespace(e) == name(&choice.cluster));
                if let Some(replica) = self.replica(root, &full_name, choice, old).await? {
                    replicas.push(replica);
                }
            }
        }
        for old in existing {
            if !replicas.iter().any(|r| namespace(&r.object) == namespace(&old)) {
                self.store.delete(POLICY, namespace(&old), name(&old), PropagationPolicy::Background).await?;
            }
        }
        Ok(replicas)
    }

    async fn replica(
        &self,
        root: &Value,
        full_name: &str,
        choice: &Chosen,
        old: Option<&Value>,
    ) -> Result<Option<Replica>> {
        let cluster = name(&choice.cluster);
        let mut spec = at(root, "/spec").clone();
        if choice.enforce {
            put(&mut spec, "remediationAction", json!("enforce"));
        }
        let mut problem = None;
        let mut templates = Vec::new();
        for policy_template in items(root, "/spec/policy-templates") {
            let mut policy_template = policy_template.clone();
            let definition = at(&policy_template, "/objectDefinition").clone();
            let definition = match self.resolve(&definition, namespace(root), &choice.cluster).await? {
                Ok(resolved) => resolved,
                Err(reason) => {
                    let mut definition = definition;
                    // The annotation's name has a slash: no path.
                    let mut annotations =
                        at(&definition, "/metadata/annotations").as_object().cloned().unwrap_or_default();
                    annotations.insert(template::ERROR.to_owned(), json!(reason));
                    put(&mut definition, "metadata/annotations", Value::Object(annotations));
                    problem = Some(reason);
                    definition
                }
            };
            put(&mut policy_template, "objectDefinition", definition);
            templates.push(policy_template);
        }
        put(&mut spec, "policy-templates", json!(templates));
        let mut labels = at(root, "/metadata/labels").as_object().cloned().unwrap_or_default();
        for (suffix, value) in
            [("root-policy", full_name), ("cluster-name", cluster), ("cluster-namespace", cluster)]
        {
            labels.insert(format!("policy.open-cluster-management.io/{suffix}"), json!(value));
        }
        let mut annotations = at(root, "/metadata/annotations").as_object().cloned().unwrap_or_default();
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations.insert("argocd.argoproj.io/compare-options".to_owned(), json!("IgnoreExtraneous"));
        let wanted = json!({
            "apiVersion": POLICY.api_version(), "kind": POLICY.kind,
            "metadata": {"namespace": cluster, "name": full_name, "labels": labels, "annotations": annotations},
            "spec": spec,
        });
        let object = match old.filter(|old| is_up_to_date(old, &wanted)) {
            Some(old) => old.clone(),
            None if old.is_none()
                && self.store.get(NAMESPACE, "", cluster).await?.is_none_or(|n| is_deleting(&n)) =>
            {
                return Ok(None);
            }
            None => self.store.apply(POLICY, &wanted).await?,
        };
        Ok(Some(Replica { object, cluster: choice.cluster.clone(), problem }))
    }
}

fn is_up_to_date(old: &Value, wanted: &Value) -> bool {
    at(old, "/spec") == at(wanted, "/spec")
        && ["/metadata/labels", "/metadata/annotations"]
            .into_iter()
            .all(|field| entries(old, field) == entries(wanted, field))
}
