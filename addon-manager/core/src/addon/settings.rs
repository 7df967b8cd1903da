//! What the manager's own configuration says about the add-on.

/// Settings of the add-on that come from flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Image of the agent, before mirrors are applied.
    pub agent_image: String,
    /// Priority class of the agent's pod; empty for none.
    pub priority_class: String,
    /// Base URL of the OpenShift console of the hub; with it the add-on links to its report (spec/07 14.1).
    pub console_url: Option<String>,
    /// User name of a gRPC server that makes certificate requests in the name of agents (spec/07 5.4); without it
    /// such requests are refused.
    pub grpc_requester: Option<String>,
    /// Bounds of the lifetime that a request may ask for, in seconds.
    pub certificate_seconds: (i32, i32),
}

impl Settings {
    /// Defaults for everything but the image.
    pub fn new(agent_image: impl Into<String>) -> Self {
        Settings {
            agent_image: agent_image.into(),
            priority_class: "system-cluster-critical".to_owned(),
            console_url: None,
            grpc_requester: None,
            certificate_seconds: (600, 31_536_000),
        }
    }
}
