//! The klusterlet's rights on a spoke, exactly as OCM's operator gives them: its templates rendered for the name
//! `klusterlet` in default mode, and the one role that the operator makes in code.

use std::fs;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use serde_json::json;

use super::apply;
use super::tools::Tools;

/// Namespace of the klusterlet's agents on the spoke.
pub const AGENT_NAMESPACE: &str = "open-cluster-management-agent";

/// Namespace of add-on agents on the spoke; the operator makes it too.
pub const ADDON_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// ServiceAccount of the work agent.
pub const WORK_ACCOUNT: &str = "klusterlet-work-sa";

/// ServiceAccount of the registration agent.
pub const REGISTRATION_ACCOUNT: &str = "klusterlet-registration-sa";

const AGGREGATE: &str = "open-cluster-management:klusterlet-work:aggregate";

/// The CRDs that the operator installs on a spoke.
pub fn crds(tools: &Tools) -> Result<Vec<DynamicObject>> {
    manifests(tools, "managed", |name| name.ends_with(".crd.yaml"))
}

/// Accounts, roles and bindings.
pub fn rights(tools: &Tools) -> Result<Vec<DynamicObject>> {
    let wanted = |name: &str| !name.ends_with(".crd.yaml") && !name.ends_with("deployment.yaml");
    let mut objects = manifests(tools, "managed", wanted)?;
    objects.extend(manifests(tools, "management", wanted)?);
    objects.push(apply::object(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": AGGREGATE},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"open-cluster-management.io/aggregate-to-work": "true"}}]},
    }))?);
    Ok(objects)
}

fn manifests(tools: &Tools, folder: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<DynamicObject>> {
    let dir = tools.assets().join("klusterlet").join(folder);
    let mut objects = Vec::new();
    for entry in fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted) {
            let text = fs::read_to_string(&path)?;
            objects
                .extend(apply::documents(&render(&text)).with_context(|| format!("in {}", path.display()))?);
        }
    }
    Ok(objects)
}

/// The templates of the operator use only variables, `if` and `range`, each on a line of its own; every `if` and
/// `range` among the rights is about extra labels and AWS roles, which the lab does not have.
fn render(template: &str) -> String {
    let mut depth = 0_usize;
    let mut text = String::new();
    for line in template.lines() {
        let action = line.trim();
        if action.starts_with("{{ if") || action.starts_with("{{ range") {
            depth += 1;
        } else if action.starts_with("{{ end") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (variable, value) in [
        ("{{ .KlusterletName }}", "klusterlet"),
        ("{{ .KlusterletNamespace }}", AGENT_NAMESPACE),
        ("{{ .AgentNamespace }}", AGENT_NAMESPACE),
        ("{{ .WorkServiceAccount }}", WORK_ACCOUNT),
        ("{{ .RegistrationServiceAccount }}", REGISTRATION_ACCOUNT),
    ] {
        text = text.replace(variable, value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_without_conditional_parts() {
        let template = "metadata:\n  name: x:{{ .KlusterletName }}-work\n  labels:\n    {{ if gt (len .Labels) 0 }}\n    \
                        {{ range $key, $value := .Labels }}\n    \"{{ $key }}\": \"{{ $value }}\"\n    {{ end }}\n    {{ end }}\n\
                        rules: []\n";
        assert_eq!(render(template), "metadata:\n  name: x:klusterlet-work\n  labels:\nrules: []\n");
    }
}
