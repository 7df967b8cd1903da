//! The formats that are checked (spec/02 6.2), as Go's standard library reads them.

use std::net::IpAddr;

/// A known value of the keyword `format`; unknown formats always pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Date,
    Time,
    DateTime,
    Hostname,
    Email,
    Ipv4,
    Ipv6,
    Uri,
    UriReference,
    UriTemplate,
    Uuid,
    Regex,
    JsonPointer,
    RelativeJsonPointer,
}

impl Format {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "date" => Format::Date,
            "time" => Format::Time,
            "date-time" => Format::DateTime,
            "hostname" => Format::Hostname,
            "email" | "idn-email" => Format::Email,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "uri" | "iri" => Format::Uri,
            "uri-reference" | "iri-reference" => Format::UriReference,
            "uri-template" => Format::UriTemplate,
            "uuid" => Format::Uuid,
            "regex" => Format::Regex,
            "json-pointer" => Format::JsonPointer,
            "relative-json-pointer" => Format::RelativeJsonPointer,
            _ => return None,
        })
    }

    pub(super) fn holds(self, text: &str) -> bool {
        match self {
            Format::Date => date(text) == Some(""),
            Format::Time => time(text).is_some_and(|rest| rest.is_empty() || zone(rest)),
            Format::DateTime => {
                Format::Time.holds(text)
                    || date(text).is_some_and(|rest| {
                        let clock = rest.strip_prefix('T').and_then(time);
                        rest.is_empty() || clock.is_some_and(zone)
                    })
            }
            Format::Hostname => hostname(text),
            Format::Email => email(text),
            Format::Ipv4 => text.contains('.') && text.parse::<IpAddr>().is_ok(),
            Format::Ipv6 => text.contains(':') && text.parse::<IpAddr>().is_ok(),
            Format::Uri => url(text).is_some_and(|u| u.has_scheme) && !text.contains('\\'),
            Format::UriReference => url(text).is_some() && !text.contains('\\'),
            Format::UriTemplate => url(text).is_some_and(|u| balanced(&u.path)) && !text.contains('\\'),
            Format::Uuid => uuid(text),
            Format::Regex => text.is_empty() || super::pattern::compile(text).is_some(),
            Format::JsonPointer => json_pointer(text),
            Format::RelativeJsonPointer => relative_json_pointer(text),
        }
    }
}

fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let (head, rest) = text.split_at_checked(count)?;
    head.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    Some((head.parse().ok()?, rest))
}

/// `YYYY-MM-DD`; what follows it.
fn date(text: &str) -> Option<&str> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=last).contains(&day).then_some(rest)
}

/// `HH:MM:SS` with an optional fraction, the hour with one digit or two; what follows it.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = digits(text, 2).or_else(|| digits(text, 1))?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() < fraction.len() {
            rest = after;
        }
    }
    (hour < 24 && minute < 60 && second < 60).then_some(rest)
}

/// `Z` or `+HH:MM`.
fn zone(text: &str) -> bool {
    let offset = || {
        let (hour, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
        let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
        (hour <= 24 && minute < 60 && rest.is_empty()).then_some(())
    };
    text == "Z" || offset().is_some()
}

fn hostname(text: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    text.len() < 256 && text.split('.').all(label)
}

fn uuid(text: &str) -> bool {
    let group = |(part, length): (&str, usize)| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 5 && parts.into_iter().zip([8, 4, 4, 4, 12]).all(group)
}

fn json_pointer(text: &str) -> bool {
    let token = |t: &str| {
        let mut rest = t;
        while let Some((_, after)) = rest.split_once('~') {
            if !after.starts_with(['0', '1']) {
                return false;
            }
            rest = after;
        }
        true
    };
    text.is_empty() || text.strip_prefix('/').is_some_and(|t| t.split('/').all(token))
}

fn relative_json_pointer(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text.len() - rest.len();
    let leading_zero = text.starts_with('0') && number > 1;
    number > 0 && !leading_zero && (rest == "#" || json_pointer(rest))
}

/// An address of RFC 5322 with an optional display name, as Go reads it.
fn email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if let Some(open) = text.rfind('<') {
        let (name, address) = text.split_at(open);
        let inner = address.strip_prefix('<').and_then(|a| a.strip_suffix('>'));
        return inner.is_some_and(plain_address) && phrase(name.trim());
    }
    plain_address(text)
}

/// The words before `<`: quoted strings and atoms.
fn phrase(text: &str) -> bool {
    text.is_empty()
        || quoted(text)
        || text.split_ascii_whitespace().all(|word| word.chars().all(|c| atom_char(c) || c == '.'))
}

fn plain_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let literal = domain.strip_prefix('[').and_then(|d| d.strip_suffix(']'));
    let domain_ok = match literal {
        Some(address) => address.strip_prefix("IPv6:").unwrap_or(address).parse::<IpAddr>().is_ok(),
        None => dot_atom(domain),
    };
    domain_ok && (dot_atom(local) || quoted(local))
}

fn dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(atom_char))
}

fn atom_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || (!c.is_ascii() && !c.is_control())
}

fn quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) else { return false };
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => return false,
            '"' => return false,
            c if c.is_control() && c != '\t' => return false,
            _ => {}
        }
    }
    !inner.is_empty()
}

/// What the checks need of a parsed URL.
struct Url {
    has_scheme: bool,
    path: String,
}

/// Go's `url.Parse`, as far as its verdict goes.
fn url(text: &str) -> Option<Url> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return None;
    }
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    unescape(fragment)?;
    let (scheme, rest) = scheme(text)?;
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        if scheme {
            return Some(Url { has_scheme: true, path: String::new() });
        }
        // The first segment of a relative path must not look like a scheme.
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return None;
        }
    }
    let mut path = rest;
    if let Some(authority) = rest.strip_prefix("//").filter(|_| scheme || !rest.starts_with("///")) {
        let (host, after) = authority.find('/').map_or((authority, ""), |i| authority.split_at(i));
        authority_holds(host).then_some(())?;
        path = after;
    }
    Some(Url { has_scheme: scheme, path: unescape(path)? })
}

fn scheme(text: &str) -> Option<(bool, &str)> {
    for (i, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if i > 0 => {}
            ':' if i == 0 => return None,
            ':' => return Some((true, text.get(i + 1..)?)),
            _ => return Some((false, text)),
        }
    }
    Some((false, text))
}

fn authority_holds(authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let user_ok = user.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c));
    if !user_ok || unescape(user).is_none() {
        return false;
    }
    let (name, port) = if host.starts_with('[') {
        match host.rfind(']') {
            Some(end) => (host.get(1..end).unwrap_or_default(), host.get(end + 1..).unwrap_or_default()),
            None => return false,
        }
    } else {
        host.rfind(':').map_or((host, ""), |i| host.split_at(i))
    };
    let port_ok =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    let host_char =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    port_ok && name.chars().all(host_char) && host_escapes(name)
}

/// Percent escapes in a host may only be `%25` or bytes beyond ASCII.
fn host_escapes(host: &str) -> bool {
    host.split('%').skip(1).all(|after| {
        let hex = after.get(..2).and_then(|h| u8::from_str_radix(h, 16).ok());
        hex.is_some_and(|byte| byte == 0x25 || byte >= 0x80)
    })
}

/// The text without its percent escapes; `None` if one is malformed.
fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(b);
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// Every `{` is closed later.
fn balanced(path: &str) -> bool {
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        match after.split_once('}') {
            Some((_, next)) => rest = next,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("date", "2024-02-29", true)]
    #[case("date", "2023-02-29", false)]
    #[case("date", "2023-2-1", false)]
    #[case("time", "9:15:04", true)]
    #[case("time", "09:15:04.25Z", true)]
    #[case("time", "09:15:04+25:00", false)]
    #[case("time", "24:00:00", false)]
    #[case("date-time", "2026-08-22T10:00:00Z", true)]
    #[case("date-time", "2026-08-22T10:00:00.123+02:00", true)]
    #[case("date-time", "2026-08-22", true)]
    #[case("date-time", "10:00:00", true)]
    #[case("date-time", "2026-08-22T10:00:00", false)]
    #[case("date-time", "2026-08-22 10:00:00Z", false)]
    #[case("hostname", "a-b.example.org", true)]
    #[case("hostname", "-a.example.org", false)]
    #[case("hostname", "a..b", false)]
    #[case("email", "someone@example.org", true)]
    #[case("email", "Some One <someone@example.org>", true)]
    #[case("email", "\"some one\"@example.org", true)]
    #[case("email", "someone", false)]
    #[case("email", "a..b@example.org", false)]
    #[case("email", "a@", false)]
    #[case("ipv4", "192.0.2.1", true)]
    #[case("ipv4", "192.0.2", false)]
    #[case("ipv4", "::ffff:192.0.2.1", true)]
    #[case("ipv6", "2001:db8::1", true)]
    #[case("ipv6", "192.0.2.1", false)]
    #[case("uri", "https://example.org/a?b=c#d", true)]
    #[case("uri", "mailto:someone@example.org", true)]
    #[case("uri", "not a uri", false)]
    #[case("uri", "/a/b", false)]
    #[case("uri", "https://exa mple.org", false)]
    #[case("uri", "https://example.org:port/", false)]
    #[case("uri", "https://example.org/%zz", false)]
    #[case("uri-reference", "a/b", true)]
    #[case("uri-reference", "a\\b", false)]
    #[case("uri-reference", "a:b:c/d", true)]
    #[case("uri-reference", "1:b/d", false)]
    #[case("uri-template", "https://example.org/{id}", true)]
    #[case("uri-template", "https://example.org/{id", false)]
    #[case("uuid", "5d0c3d2e-90b1-5c11-8a55-000000000001", true)]
    #[case("uuid", "5D0C3D2E-90b1-5c11-8a55-000000000001", false)]
    #[case("regex", "^a(b|c)$", true)]
    #[case("regex", "a(", false)]
    #[case("json-pointer", "/a/~0b/~1", true)]
    #[case("json-pointer", "a", false)]
    #[case("json-pointer", "/~2", false)]
    #[case("relative-json-pointer", "1/a", true)]
    #[case("relative-json-pointer", "0#", true)]
    #[case("relative-json-pointer", "01", false)]
    fn reads_formats_as_go(#[case] name: &str, #[case] text: &str, #[case] wanted: bool) {
        assert_eq!(Format::of(name).map(|f| f.holds(text)), Some(wanted));
    }
}
