//! `ocloud.openshift.io/v1alpha1` (spec/01 sections 1.8 to 1.11).
