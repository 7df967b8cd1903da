//! The template's identity in the O-Cloud (spec/01 4.2, 4.11).

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// The templateId of a template that was created without one.
///
/// It follows from the hub and the template's place, so that a template that is deleted and created again is the same
/// artifact for the SMO. It carries the version of a random UUID, which is what clients of upstream see there.
pub fn generate(hub: &str, namespace: &str, name: &str) -> Uuid {
    let digest = Sha256::digest(format!("ClusterTemplate/{hub}/{namespace}/{name}").as_bytes());
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(digest) {
        *to = from;
    }
    Builder::from_random_bytes(bytes).into_uuid()
}

/// Whether Go's parser takes `text` as a UUID: 36 characters with dashes, the same behind `urn:uuid:` or between any
/// two characters (braces), or 32 hex digits.
pub fn is_uuid(text: &str) -> bool {
    let dashed = match text.len() {
        32 => return text.bytes().all(|b| b.is_ascii_hexdigit()),
        36 => Some(text),
        38 => text.get(1..37),
        45 => text.get(..9).filter(|head| head.eq_ignore_ascii_case("urn:uuid:")).and_then(|_| text.get(9..)),
        _ => None,
    };
    dashed.is_some_and(|t| {
        t.bytes()
            .enumerate()
            .all(|(i, b)| if matches!(i, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("5d0c3d2e-90b1-5c11-8a55-000000000001", true)]
    #[case("5d0c3d2e90b15c118a55000000000001", true)]
    #[case("URN:UUID:5D0C3D2E-90b1-5c11-8a55-000000000001", true)]
    #[case("{5d0c3d2e-90b1-5c11-8a55-000000000001}", true)]
    #[case("5d0c3d2e-90b1-5c11-8a55-0000000000ZZ", false)]
    #[case("5d0c3d2e-90b1-5c11-8a5-5000000000001", false)]
    #[case("5d0c3d2e", false)]
    #[case("äääääääääääääääääää", false)]
    #[case("", false)]
    fn uuids(#[case] text: &str, #[case] wanted: bool) {
        assert_eq!(is_uuid(text), wanted);
    }

    #[test]
    fn the_same_place_has_the_same_id() {
        let id = generate("hub", "ns", "a.v1");
        assert_eq!(id, generate("hub", "ns", "a.v1"));
        assert_ne!(id, generate("hub", "other", "a.v1"));
        assert_ne!(id, generate("other", "ns", "a.v1"));
        assert!(is_uuid(&id.to_string()));
        assert_eq!(id.get_version_num(), 4);
    }
}
