//! ClusterTemplates: observe, decide (in `manager-core`), act.

mod act;

pub(crate) use act::Templates;
