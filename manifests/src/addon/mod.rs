//! `addon.clcm.openshift.io/v1alpha1`: our own kinds between hub and spoke (DESIGN section 2).
