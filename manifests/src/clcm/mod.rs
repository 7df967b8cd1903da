//! `clcm.openshift.io/v1alpha1` (spec/01 section 1).
