//! siteconfig, policy and agent-install kinds, partial.
