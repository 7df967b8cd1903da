//! ProvisioningRequests: observe, decide (in `manager-core`), act.

mod act;
mod observe;

pub(crate) use act::Requests;
pub(crate) use observe::Templates;
