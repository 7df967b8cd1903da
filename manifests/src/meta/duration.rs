//! Durations as the API writes them: Go's grammar, Go's error texts, Go's canonical form.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// The magnitude of the smallest 64-bit integer.
const LIMIT: u64 = 1 << 63;

/// A signed number of nanoseconds, written like `1h30m` (spec/01, conventions).
///
/// Fields that users type keep their `String` in the API types, so that one bad text cannot stop a typed watch; parse
/// them here where they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(i64);

/// Why a text is not a duration; prints as Go does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not the grammar, or beyond 64 bits of nanoseconds.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A unit that is not one of `ns us µs ms s m h`.
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

impl GoDuration {
    /// From nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        GoDuration(nanos)
    }

    /// A whole number of minutes.
    pub const fn minutes(n: u32) -> Self {
        // 2^32 minutes are 2.6e20 ns, beyond i64: saturate.
        let nanos = n as u64;
        if nanos > i64::MAX as u64 / MINUTE {
            GoDuration(i64::MAX)
        } else {
            GoDuration((nanos * MINUTE).cast_signed())
        }
    }

    /// Reads Go's grammar: an optional sign, then `0` or one or more `<decimal><unit>`.
    ///
    /// # Errors
    /// When the text is not of that grammar or does not fit.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(GoDuration(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let digits;
            (digits, rest) = split_while(rest, |c| c.is_ascii_digit());
            let whole = whole_number(digits).ok_or_else(invalid)?;
            let mut fraction = "";
            if let Some(after) = rest.strip_prefix('.') {
                (fraction, rest) = split_while(after, |c| c.is_ascii_digit());
            }
            if digits.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let unit;
            (unit, rest) = split_while(rest, |c| c != '.' && !c.is_ascii_digit());
            if unit.is_empty() {
                return Err(DurationError::MissingUnit(text.to_owned()));
            }
            let size = unit_size(unit)
                .ok_or_else(|| DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() })?;
            let mut value = whole.checked_mul(size).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
            value = value.checked_add(part_of(fraction, size)).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
            total = total.checked_add(value).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
        }
        if negative {
            return Ok(GoDuration(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(GoDuration).map_err(|_| invalid())
    }

    /// Nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// More than zero.
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// For arithmetic with timestamps.
    pub const fn as_signed(self) -> SignedDuration {
        SignedDuration::from_nanos(self.0)
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        GoDuration::parse(text)
    }
}

impl From<SignedDuration> for GoDuration {
    /// Saturates at 292 years.
    fn from(d: SignedDuration) -> Self {
        let limit = if d.is_negative() { i64::MIN } else { i64::MAX };
        GoDuration(i64::try_from(d.as_nanos()).unwrap_or(limit))
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match n {
            0 => f.write_str("0s"),
            _ if n < MICROSECOND => write!(f, "{n}ns"),
            _ if n < MILLISECOND => write!(f, "{}µs", Decimal(n, MICROSECOND)),
            _ if n < SECOND => write!(f, "{}ms", Decimal(n, MILLISECOND)),
            _ => {
                let seconds = Decimal(n % MINUTE, SECOND);
                let (hours, minutes) = (n / HOUR, n % HOUR / MINUTE);
                if hours > 0 {
                    write!(f, "{hours}h{minutes}m{seconds}s")
                } else if minutes > 0 {
                    write!(f, "{minutes}m{seconds}s")
                } else {
                    write!(f, "{seconds}s")
                }
            }
        }
    }
}

/// A number of `unit`s with as many decimals as needed.
struct Decimal(u64, u64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal(value, unit) = *self;
        write!(f, "{}", value / unit)?;
        let rest = value % unit;
        if rest == 0 {
            return Ok(());
        }
        let width = unit.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))
    }
}

fn split_while(text: &str, take: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !take(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// The number that these digits write (0 for none); `None` beyond 2^63.
fn whole_number(digits: &str) -> Option<u64> {
    digits
        .bytes()
        .try_fold(0_u64, |n, b| n.checked_mul(10)?.checked_add(u64::from(b - b'0')).filter(|n| *n <= LIMIT))
}

/// `0.<fraction>` of `size`, cut to whole nanoseconds; digits beyond 63 bits are ignored as Go ignores them.
fn part_of(fraction: &str, size: u64) -> u64 {
    let (mut digits, mut scale) = (0_u64, 1.0_f64);
    for b in fraction.bytes() {
        let Some(next) =
            digits.checked_mul(10).and_then(|n| n.checked_add(u64::from(b - b'0'))).filter(|n| *n < LIMIT)
        else {
            break;
        };
        digits = next;
        scale *= 10.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the same floating-point arithmetic as Go's parser; the result is below one unit"
    )]
    let nanos = (digits as f64 * (size as f64 / scale)) as u64;
    nanos
}

fn unit_size(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // U+00B5 and U+03BC
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

/// Go's quoting in package time: control and non-ASCII characters as `\xNN` per byte.
fn quote(text: &str) -> String {
    use fmt::Write as _;
    let mut out = String::from("\"");
    for c in text.chars() {
        if !c.is_ascii() || c < ' ' {
            for b in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "\\x{b:02x}");
            }
        } else {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", 0, "0s")]
    #[case("-0", 0, "0s")]
    #[case("+5s", 5_000_000_000, "5s")]
    #[case("90m", 5_400_000_000_000, "1h30m0s")]
    #[case("4h", 14_400_000_000_000, "4h0m0s")]
    #[case("1h0m30s", 3_630_000_000_000, "1h0m30s")]
    #[case("30m", 1_800_000_000_000, "30m0s")]
    #[case("1.5h", 5_400_000_000_000, "1h30m0s")]
    #[case(".5s", 500_000_000, "500ms")]
    #[case("5.s", 5_000_000_000, "5s")]
    #[case("-5.6s", -5_600_000_000, "-5.6s")]
    #[case("1us", 1_000, "1µs")]
    #[case("1µs", 1_000, "1µs")]
    #[case("1μs", 1_000, "1µs")]
    #[case("1.1ms", 1_100_000, "1.1ms")]
    #[case("100ns", 100, "100ns")]
    #[case("39h9m14.425s", 140_954_425_000_000, "39h9m14.425s")]
    #[case("0.3333333333333333333h", 1_200_000_000_000, "20m0s")]
    #[case("0.830103483285477580700h", 2_988_372_539_827, "49m48.372539827s")]
    #[case("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s")]
    #[case("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s")]
    #[case("1m1m", 120_000_000_000, "2m0s")]
    fn parses_and_prints_like_go(#[case] text: &str, #[case] nanos: i64, #[case] canonical: &str) {
        let d = GoDuration::parse(text).unwrap();
        assert_eq!(d.nanos(), nanos);
        assert_eq!(d.to_string(), canonical);
    }

    #[rstest]
    #[case("abc", r#"time: invalid duration "abc""#)]
    #[case("", r#"time: invalid duration """#)]
    #[case("-", r#"time: invalid duration "-""#)]
    #[case(".", r#"time: invalid duration ".""#)]
    #[case("90", r#"time: missing unit in duration "90""#)]
    #[case("1.5", r#"time: missing unit in duration "1.5""#)]
    #[case("1h30", r#"time: missing unit in duration "1h30""#)]
    #[case("1d", r#"time: unknown unit "d" in duration "1d""#)]
    #[case("1H", r#"time: unknown unit "H" in duration "1H""#)]
    #[case("1h 5m", r#"time: unknown unit "h " in duration "1h 5m""#)]
    #[case(" 1h", r#"time: invalid duration " 1h""#)]
    #[case("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#)]
    #[case("3000000h", r#"time: invalid duration "3000000h""#)]
    #[case("1é", r#"time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9""#)]
    #[case("\"\\\n", r#"time: invalid duration "\"\\\x0a""#)]
    fn refuses_with_the_text_of_go(#[case] text: &str, #[case] message: &str) {
        assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn positive_means_more_than_zero() {
        assert!(GoDuration::minutes(1).is_positive());
        assert!(!GoDuration::default().is_positive());
        assert!(!GoDuration::parse("-1s").unwrap().is_positive());
        assert_eq!(GoDuration::minutes(90).as_signed(), SignedDuration::from_mins(90));
        assert_eq!(GoDuration::from(SignedDuration::from_mins(90)), GoDuration::minutes(90));
        assert_eq!(GoDuration::from(SignedDuration::MIN).nanos(), i64::MIN);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nanos in any::<i64>()) {
            let d = GoDuration::from_nanos(nanos);
            prop_assert_eq!(GoDuration::parse(&d.to_string()).unwrap(), d);
        }

        #[test]
        fn any_text_is_answered(text in "[-+0-9.hmsuµn ]{0,24}|\\PC{0,12}") {
            if let Ok(d) = GoDuration::parse(&text) {
                prop_assert_eq!(GoDuration::parse(&d.to_string()).unwrap(), d);
            }
        }
    }
}
