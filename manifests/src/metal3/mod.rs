//! `metal3.io/v1alpha1`, partial (spec/04 section 15).
