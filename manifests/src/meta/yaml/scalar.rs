//! Plain scalars: which text is a boolean, a number, null or a string in YAML 1.1 as Go reads it.

use std::borrow::Cow;

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Scalar {
    fn tag(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) | Scalar::Unsigned(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::Text(_) => "str",
        }
    }
}

/// A scalar with an explicit tag of the core schema; the error is the Go parser's.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    if tag == "str" {
        return Ok(Scalar::Text(text.to_owned()));
    }
    match (tag, plain(text)) {
        #[expect(clippy::cast_precision_loss, reason = "the document asks for a float")]
        ("float", Scalar::Int(n)) => Ok(Scalar::Float(n as f64)),
        (tag, scalar) if scalar.tag() == tag => Ok(scalar),
        (tag, scalar) => Err(format!("cannot decode !!{} `{text}` as a !!{tag}", scalar.tag())),
    }
}

/// A plain scalar without a tag.
pub(super) fn plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => float(text),
        Some(b'+' | b'-' | b'0'..=b'9') if !timestamp(text) => number(text),
        _ => None,
    }
    .unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

fn number(text: &str) -> Option<Scalar> {
    let text: Cow<str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    integer(&text).or_else(|| float(&text))
}

/// Go's integer literals: decimal, `0x`, `0o` or a leading zero, `0b`.
fn integer(text: &str) -> Option<Scalar> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, digits.get(2..)?),
        Some("0o") => (8, digits.get(2..)?),
        Some("0b") => (2, digits.get(2..)?),
        Some(_) if digits.starts_with('0') => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    if let Ok(n) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
        return Some(Scalar::Int(n));
    }
    // Go reads unsigned numbers without any sign.
    (text.as_bytes().first()?.is_ascii_digit())
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
        .map(Scalar::Unsigned)
}

/// `[-+]? ( .digits | digits [. [digits]] ) [ e [-+]? digits ]`
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (unsigned.get(..at)?, unsigned.get(at + 1..)),
        None => (unsigned, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_ok =
        digits(whole) && digits(fraction) && if whole.is_empty() { !fraction.is_empty() } else { true };
    let exponent_ok = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['-', '+']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    if !mantissa_ok || !exponent_ok {
        return None;
    }
    // Out of range is no number for Go.
    text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Scalar::Float)
}

/// `2006-1-2`, with or without a time: a string for Kubernetes.
fn timestamp(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let year = parts.next().unwrap_or_default();
    year.len() == 4
        && year.bytes().all(|b| b.is_ascii_digit())
        && parts.next().is_some_and(|m| !m.is_empty() && m.bytes().all(|b| b.is_ascii_digit()))
        && parts.next().is_some()
}

/// A float as a JSON key, as Go prints a 32-bit one in its shortest form.
pub(super) fn float_key(f: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "Go prints keys with 32 bits of precision")]
    let f = f as f32;
    if f.is_nan() {
        return ".nan".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{f:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = i32::try_from(mantissa.bytes().filter(u8::is_ascii_digit).count()).unwrap_or(i32::MAX);
    // Go: precision 6 decides, unless all digits stand before the point.
    let precision = if digits < 6 || digits <= exponent { 21.min(digits.max(6)) } else { 6 };
    let precision = if precision > digits && digits > exponent { digits.max(1) } else { precision };
    if exponent < -4 || exponent >= precision.max(6) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{f}")
}
