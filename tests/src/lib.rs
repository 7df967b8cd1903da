//! The lab (real etcd, kube-apiserver and Open Cluster Management as plain processes), the simulators of what needs
//! hardware or OpenShift, and the demo. Nothing of the product depends on this crate.

pub mod lab;
pub mod scene;
pub mod sim;
