//! OpenShift kinds, partial: ClusterVersion, MachineConfigPool, ClusterImageSet.
