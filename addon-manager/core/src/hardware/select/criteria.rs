use std::collections::BTreeMap;

use manifests::clcm::NodeGroupData;
use manifests::meta::labels;
use manifests::metal3::BareMetalHost;

use super::grammar::{self, Criterion, GrammarError};
use super::reject::Rejection;
use crate::hardware::{HostView, Pools};

/// What one node group asks of a host, read once (spec/04 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Criteria {
    site: String,
    pool: Option<String>,
    labels: Vec<(String, String)>,
    hardware: Vec<Criterion>,
}

/// Why the criteria of a node group cannot be read; the user must change them. `Display` is upstream's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// A `hardwaredata/` entry is not of the grammar.
    #[error("failed to apply secondary filter: failed to evaluate criteria: criteria={criterion}, {source}")]
    Criterion {
        /// The selector key.
        criterion: String,
        /// What is wrong with it.
        source: GrammarError,
    },
    /// A selector key can be no label key.
    #[error(
        "failed to get BMH list: unable to parse requirement: <nil>: Invalid value: {key:?}: a valid label key must \
         consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    )]
    Key {
        /// The label key that the selector key stands for.
        key: String,
    },
    /// A selector value can be no label value.
    #[error(
        "failed to get BMH list: unable to parse requirement: values[0][{key}]: Invalid value: {value:?}: a valid label \
         must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character"
    )]
    Value {
        /// The label key.
        key: String,
        /// The value.
        value: String,
    },
}

impl Criteria {
    /// Reads the criteria of a node group of a request for `site`.
    ///
    /// # Errors
    /// When a key or a value can match no host whatever the hosts are.
    pub fn of(group: &NodeGroupData, site: &str) -> Result<Self, SelectError> {
        let pool = group.resource_pool_id.as_deref().filter(|p| !p.is_empty());
        Criteria::parse(site, pool, &group.resource_selector)
    }

    /// As [`Criteria::of`], from the parts.
    ///
    /// # Errors
    /// As [`Criteria::of`].
    pub fn parse(
        site: &str,
        pool: Option<&str>,
        selector: &BTreeMap<String, String>,
    ) -> Result<Self, SelectError> {
        let mut labels = Vec::new();
        let mut hardware = Vec::new();
        for (key, value) in selector {
            if key.starts_with(grammar::PREFIX) {
                hardware.push(
                    Criterion::parse(key, value)
                        .map_err(|source| SelectError::Criterion { criterion: key.clone(), source })?,
                );
            } else {
                let key = label_key(key);
                if !is_label_key(&key) {
                    return Err(SelectError::Key { key });
                }
                if !is_label_value(value) {
                    return Err(SelectError::Value { key, value: value.clone() });
                }
                labels.push((key, value.clone()));
            }
        }
        Ok(Criteria { site: site.to_owned(), pool: pool.map(str::to_owned), labels, hardware })
    }

    /// The pool that the group names: a name or a uid.
    pub fn pool(&self) -> Option<&str> {
        self.pool.as_deref()
    }

    /// The label requirements, full keys.
    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// Why the host does not match, whether it is free or not.
    ///
    /// # Errors
    /// The first requirement that it does not meet.
    pub fn matches(&self, view: &HostView, pools: &Pools) -> Result<(), Rejection> {
        self.matches_labels(&view.host, pools)?;
        self.matches_hardware(view)
    }

    /// Stage 1: pool, site and labels (spec/04 5.1).
    ///
    /// # Errors
    /// The first requirement that the host does not meet.
    pub fn matches_labels(&self, host: &BareMetalHost, pools: &Pools) -> Result<(), Rejection> {
        let pool = host.label(labels::RESOURCE_POOL).filter(|p| !p.is_empty());
        if let Some(wanted) = &self.pool
            && pool != Some(wanted.as_str())
            && !pool.is_some_and(|p| pools.is(p, wanted))
        {
            return Err(Rejection::Pool { wanted: wanted.clone(), found: pool.map(str::to_owned) });
        }
        if let Some(pool) = pool
            && let Some(site) = pools.site_of(pool)
            && !site.is(&self.site)
        {
            return Err(Rejection::Site {
                wanted: self.site.clone(),
                found: site.name.clone(),
                pool: pool.to_owned(),
            });
        }
        for (key, wanted) in &self.labels {
            let found = host.label(key);
            if found != Some(wanted.as_str()) {
                return Err(Rejection::Label {
                    key: key.clone(),
                    wanted: wanted.clone(),
                    found: found.map(str::to_owned),
                });
            }
        }
        Ok(())
    }

    /// The hardware half of stage 2 (spec/04 5.2).
    ///
    /// # Errors
    /// The first requirement that the host does not meet.
    pub fn matches_hardware(&self, view: &HostView) -> Result<(), Rejection> {
        let hardware = view.hardware().ok_or(Rejection::NoHardwareData)?;
        for criterion in &self.hardware {
            if let Some(found) = criterion.unmet(hardware) {
                return Err(Rejection::Criterion {
                    key: criterion.key.clone(),
                    wanted: criterion.value.clone(),
                    found,
                });
            }
        }
        Ok(())
    }
}

/// Keys of the three host label families are taken as they are (B9), others are free criteria without their prefix.
fn label_key(key: &str) -> String {
    const VERBATIM: [&str; 3] =
        [labels::RESOURCE_SELECTOR_PREFIX, labels::INTERFACE_LABEL_PREFIX, "resources.clcm.openshift.io/"];
    if VERBATIM.iter().any(|prefix| key.starts_with(prefix)) {
        return key.to_owned();
    }
    format!("{}{key}", labels::RESOURCE_SELECTOR_PREFIX)
}

fn is_label_key(key: &str) -> bool {
    let (_, name) = key.split_once('/').unwrap_or(("", key));
    !name.is_empty() && is_label_value(name)
}

fn is_label_value(value: &str) -> bool {
    let alphanumeric = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.len() <= 63
        && alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
