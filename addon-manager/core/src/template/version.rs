//! Versions as upstream's semver library reads them: exactly three numeric parts, optional pre-release and metadata.

use std::cmp::Ordering;

/// A semantic version; metadata is read and dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: i64,
    /// Second number.
    pub minor: i64,
    /// Third number.
    pub patch: i64,
    /// What stands behind the first `-`.
    pub pre_release: String,
}

/// Why a text is no version; prints as the library does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not three parts.
    #[error("{0} is not in dotted-tri format")]
    Parts(String),
    /// Illegal characters.
    #[error("failed to validate {part}: {id} is not a valid semver identifier")]
    Identifier {
        /// `pre-release` or `metadata`.
        part: &'static str,
        /// The text.
        id: String,
    },
    /// A part that is no number.
    #[error("strconv.ParseInt: parsing {}: invalid syntax", super::go::quote(.0))]
    Number(String),
    /// A number beyond 64 bits.
    #[error("strconv.ParseInt: parsing {}: value out of range", super::go::quote(.0))]
    Range(String),
}

impl Version {
    /// Reads a version.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let (text, metadata) = text.split_once('+').unwrap_or((text, ""));
        let (core, pre_release) = text.split_once('-').unwrap_or((text, ""));
        let parts: Vec<&str> = core.splitn(3, '.').collect();
        let [major, minor, patch] = parts.as_slice() else {
            return Err(VersionError::Parts(core.to_owned()));
        };
        identifier("pre-release", pre_release)?;
        identifier("metadata", metadata)?;
        Ok(Version {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre_release: pre_release.to_owned(),
        })
    }

    /// Precedence; metadata does not count.
    pub fn precedence(&self, other: &Version) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| pre_release(&self.pre_release, &other.pre_release))
    }
}

fn identifier(part: &'static str, id: &str) -> Result<(), VersionError> {
    if id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') {
        Ok(())
    } else {
        Err(VersionError::Identifier { part, id: id.to_owned() })
    }
}

fn number(text: &str) -> Result<i64, VersionError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(VersionError::Number(text.to_owned()));
    }
    text.parse().map_err(|_| VersionError::Range(text.to_owned()))
}

fn pre_release(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let (x, y) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => (x, y),
        };
        let order = match (x.parse::<i64>(), y.parse::<i64>()) {
            (Ok(x), Ok(y)) => x.cmp(&y),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => x.cmp(y),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("4.19.7", None)]
    #[case("4.19.07", None)]
    #[case("4.20.0-rc.2+build.7", None)]
    #[case("4.19", Some("4.19 is not in dotted-tri format"))]
    #[case("", Some(" is not in dotted-tri format"))]
    #[case("v4.19.7", Some("strconv.ParseInt: parsing \"v4\": invalid syntax"))]
    #[case("4.19.7.1", Some("strconv.ParseInt: parsing \"7.1\": invalid syntax"))]
    #[case("4.19.7-a_b", Some("failed to validate pre-release: a_b is not a valid semver identifier"))]
    #[case(
        "99999999999999999999.1.1",
        Some("strconv.ParseInt: parsing \"99999999999999999999\": value out of range")
    )]
    fn reads(#[case] text: &str, #[case] wanted: Option<&str>) {
        assert_eq!(Version::parse(text).err().map(|e| e.to_string()).as_deref(), wanted);
    }

    #[rstest]
    #[case("4.19.7", "4.19.07", Ordering::Equal)]
    #[case("4.19.7+a", "4.19.7+b", Ordering::Equal)]
    #[case("4.20.0-rc.2", "4.20.0", Ordering::Less)]
    #[case("4.20.0-rc.10", "4.20.0-rc.2", Ordering::Greater)]
    #[case("4.20.0-rc", "4.20.0-rc.1", Ordering::Less)]
    #[case("4.20.0-1", "4.20.0-a", Ordering::Less)]
    #[case("4.9.0", "4.10.0", Ordering::Less)]
    fn orders(#[case] a: &str, #[case] b: &str, #[case] wanted: Ordering) {
        let (a, b) = (Version::parse(a).unwrap(), Version::parse(b).unwrap());
        assert_eq!((a.precedence(&b), b.precedence(&a)), (wanted, wanted.reverse()));
    }
}
