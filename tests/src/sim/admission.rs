//! Admission rules of the real operators' webhooks, as `ValidatingAdmissionPolicies`: the API server itself refuses, in
//! dry runs too, with the real text behind its own prefix and with code 403 as a webhook would.

use std::time::Duration;

use anyhow::bail;
use kube::Client;
use serde_json::{Value, json};

use super::kinds::{ADMISSION_BINDING, ADMISSION_POLICY, Kind};
use super::store::{Failure, Store};
use super::value::{annotation, name, put, text};

/// Annotation of a policy with an object that only this policy refuses: shows when the policy is in force.
const PROBE: &str = "sim.ocloud.dev/probe";
/// Each policy refuses an object with this and its own name.
const PROBE_NAME: &str = "sim-probe.";

/// One rule: an expression that must be true, and what to say when it is not.
pub(crate) struct Rule {
    expression: String,
    message: Message,
}

enum Message {
    Text(String),
    Expression(String),
}

impl Rule {
    pub(crate) fn new(expression: &str, message: &str) -> Self {
        Rule { expression: expression.to_owned(), message: Message::Text(message.to_owned()) }
    }

    /// A rule whose message is a CEL expression.
    pub(crate) fn telling(expression: &str, message: &str) -> Self {
        Rule { expression: expression.to_owned(), message: Message::Expression(message.to_owned()) }
    }

    fn json(&self) -> Value {
        let mut rule = json!({"expression": self.expression, "reason": "Forbidden"});
        match &self.message {
            Message::Text(text) => put(&mut rule, "message", json!(text)),
            Message::Expression(text) => put(&mut rule, "messageExpression", json!(text)),
        }
        rule
    }
}

/// What one policy is about.
pub(crate) struct Policy<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// Of `CREATE` and `UPDATE`.
    pub(crate) operations: &'a [&'a str],
    /// CEL variables, each may use the ones before.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) rules: Vec<Rule>,
    /// A spec that the CRD's schema accepts.
    pub(crate) probe: Value,
}

impl Policy<'_> {
    /// The policy and its binding. Objects that are being deleted are exempt, else no finalizer could go.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let variables: Vec<Value> = self
            .variables
            .iter()
            .map(|(name, expression)| json!({"name": name, "expression": expression}))
            .collect();
        let mut rules = vec![
            Rule::new(&format!("object.metadata.name != '{PROBE_NAME}{}'", self.name), "in force").json(),
        ];
        rules.extend(self.rules.iter().map(Rule::json));
        let probe = json!({
            "apiVersion": self.kind.api_version(), "kind": self.kind.kind,
            "metadata": {"namespace": "default", "name": format!("{PROBE_NAME}{}", self.name)}, "spec": self.probe,
        });
        let policy = json!({
            "apiVersion": ADMISSION_POLICY.api_version(), "kind": ADMISSION_POLICY.kind,
            "metadata": {"name": self.name, "annotations": {PROBE: probe.to_string()}},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [self.kind.group], "apiVersions": ["*"], "resources": [self.kind.plural],
                    "operations": self.operations,
                }]},
                "matchConditions": [
                    {"name": "lives", "expression": "!has(object.metadata.deletionTimestamp)"},
                ],
                "variables": variables,
                "validations": rules,
            },
        });
        let binding = json!({
            "apiVersion": ADMISSION_BINDING.api_version(), "kind": ADMISSION_BINDING.kind,
            "metadata": {"name": self.name},
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        });
        vec![policy, binding]
    }
}

/// Applies policies and bindings and returns when the API server enforces all of them.
///
/// # Errors
/// When the API server refuses one, or one is not enforced within the limit.
pub async fn enforce(client: &Client, rules: &[Value], limit: Duration) -> anyhow::Result<()> {
    let store = Store::new(client.clone(), "ocloud-lab");
    let mut problems = Vec::new();
    for object in rules {
        let is_policy = text(object, "/kind") == ADMISSION_POLICY.kind;
        let kind = if is_policy { ADMISSION_POLICY } else { ADMISSION_BINDING };
        if let Err(problem) = store.apply(kind, object).await {
            problems.push(format!("{}: {problem}", name(object)));
        }
    }
    if !problems.is_empty() {
        bail!("admission rules: {}", problems.join("\n"));
    }
    for policy in rules.iter().filter(|o| text(o, "/kind") == ADMISSION_POLICY.kind) {
        let last = tokio::time::timeout(limit, until_enforced(&store, policy)).await;
        if last.is_err() {
            bail!("admission rule {} is not in force after {limit:?}", name(policy));
        }
    }
    Ok(())
}

async fn until_enforced(store: &Store, policy: &Value) {
    let probe: Value =
        serde_json::from_str(annotation(policy, PROBE).unwrap_or_default()).unwrap_or_default();
    let Some(kind) = super::kinds::of(text(&probe, "/apiVersion"), text(&probe, "/kind")) else { return };
    loop {
        match store.try_apply(kind, &probe).await {
            Err(Failure::Refused(answer)) if answer.contains(name(policy)) => return,
            answer => {
                tracing::debug!(policy = name(policy), ?answer, "not in force yet");
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
