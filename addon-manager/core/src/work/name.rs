//! Names of works.

use serde_json::Value;

use crate::plan;

/// Names become part of `<64 hex>-<name>` on the spoke and label values, so they keep to 63 characters.
const LONGEST: usize = 63;
const HASH: usize = 8;

/// `<owner>-<purpose>`; when that is too long the owner is cut and a hash of the whole keeps names apart.
pub fn work_name(owner: &str, purpose: &str) -> String {
    let whole = format!("{owner}-{purpose}");
    if whole.len() <= LONGEST {
        return whole;
    }
    let mut hash = plan::hash(&Value::String(whole));
    hash.truncate(HASH);
    let room = LONGEST.saturating_sub(purpose.len() + HASH + 2);
    let mut cut = room.min(owner.len());
    while !owner.is_char_boundary(cut) {
        cut -= 1;
    }
    let head = owner.get(..cut).unwrap_or_default().trim_end_matches(['-', '.']);
    format!("{head}-{hash}-{purpose}")
}
