//! ClusterTemplate validation (spec/01 sections 3 and 4).
