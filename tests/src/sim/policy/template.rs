//! Hub templates of a policy: the three forms that repositories of the Telco profiles use.

use regex::Regex;
use serde_json::Value;

use super::super::kinds::CONFIG_MAP;
use super::super::store::Result;
use super::super::value::{at, label, name, text};
use super::Simulator;

/// Says why a template was not resolved.
pub(super) const ERROR: &str = "policy.open-cluster-management.io/hub-templates-error";

/// What stands between `{{hub` and `hub}}`.
enum Form {
    ClusterName,
    ClusterLabel(String),
    /// Name of the ConfigMap, with `%s` for the cluster, and key.
    FromConfigMap(String, String),
    Unknown,
}

fn form(text: &str) -> Form {
    // A pipe only converts the value's type; the text stays the same.
    let text = text.split('|').next().unwrap_or_default().trim();
    let quoted: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    match (text.split_whitespace().next().unwrap_or_default(), quoted.as_slice()) {
        (".ManagedClusterName", _) => Form::ClusterName,
        ("index", [label]) if text.contains(".ManagedClusterLabels") => {
            Form::ClusterLabel((*label).to_owned())
        }
        ("fromConfigMap", ["", name, key]) => Form::FromConfigMap((*name).to_owned(), (*key).to_owned()),
        _ => Form::Unknown,
    }
}

impl Simulator {
    /// The template with everything resolved, or the reason why not.
    pub(super) async fn resolve(
        &self,
        template: &Value,
        root_namespace: &str,
        cluster: &Value,
    ) -> Result<std::result::Result<Value, String>> {
        let Ok(pattern) = Regex::new(r"\{\{-?hub(.*?)hub-?\}\}") else { return Ok(Ok(template.clone())) };
        let mut plain = template.to_string();
        while let Some(found) = pattern.captures(&plain) {
            let (Some(all), Some(inner)) = (found.get(0), found.get(1)) else { break };
            // Inside JSON text, quotes are escaped.
            let inner = inner.as_str().replace("\\\"", "\"");
            let value = match form(&inner) {
                Form::ClusterName => name(cluster).to_owned(),
                // A missing label is no error: it resolves to nothing.
                Form::ClusterLabel(wanted) => label(cluster, &wanted).unwrap_or_default().to_owned(),
                Form::FromConfigMap(wanted, key) => {
                    let wanted = wanted.replace("%s", name(cluster));
                    let Some(map) = self.store.get(CONFIG_MAP, root_namespace, &wanted).await? else {
                        return Ok(Err(format!(
                            "failed to resolve the template {template}: template: tmpl:1:10: executing \"tmpl\" at \
                             <fromConfigMap>: error calling fromConfigMap: failed getting the ConfigMap {wanted} from : \
                             configmaps \"{wanted}\" not found"
                        )));
                    };
                    at(&map, "/data").get(&key).and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                Form::Unknown => return Ok(Err(format!("failed to parse the template: {}", inner.trim()))),
            };
            let escaped = serde_json::to_string(&value).unwrap_or_default();
            let escaped = escaped.trim_matches('"').to_owned();
            let range = all.range();
            plain.replace_range(range, &escaped);
        }
        let resolved: Value = serde_json::from_str(&plain).unwrap_or_else(|_| template.clone());
        debug_assert_eq!(text(&resolved, "/kind"), text(template, "/kind"));
        Ok(Ok(resolved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_usual_forms() {
        assert!(matches!(form(" .ManagedClusterName "), Form::ClusterName));
        assert!(
            matches!(form(r#" index .ManagedClusterLabels "tier" "#), Form::ClusterLabel(l) if l == "tier")
        );
        assert!(matches!(
            form(r#" fromConfigMap "" (printf "%s-pg" .ManagedClusterName) "cpu" | toInt "#),
            Form::FromConfigMap(n, k) if n == "%s-pg" && k == "cpu"
        ));
        assert!(matches!(form(" lookup 1 "), Form::Unknown));
    }
}
