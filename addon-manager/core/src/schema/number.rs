//! Decimal numbers, compared without rounding as the Go library does with fractions.

use std::cmp::Ordering;

use serde_json::Number;

/// `coefficient * 10^exponent`; the coefficient has no trailing zero unless it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    coefficient: i128,
    exponent: i32,
}

impl Decimal {
    pub(super) fn of(number: &Number) -> Self {
        if let Some(i) = number.as_i64() {
            return Self::new(i128::from(i), 0);
        }
        if let Some(u) = number.as_u64() {
            return Self::new(i128::from(u), 0);
        }
        number.as_f64().map_or(Decimal { coefficient: 0, exponent: 0 }, Self::of_float)
    }

    /// The shortest decimal that reads back as `f`.
    fn of_float(f: f64) -> Self {
        let text = format!("{f:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let exponent = exponent.parse::<i32>().unwrap_or(0);
        let fraction = i32::try_from(fraction.len()).unwrap_or(0);
        Self::new(digits.parse().unwrap_or(0), exponent - fraction)
    }

    fn new(mut coefficient: i128, mut exponent: i32) -> Self {
        if coefficient == 0 {
            return Decimal { coefficient: 0, exponent: 0 };
        }
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent += 1;
        }
        Decimal { coefficient, exponent }
    }

    pub(super) fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    pub(super) fn is_positive(self) -> bool {
        self.coefficient > 0
    }

    /// As a count, if it is a whole number that fits.
    pub(super) fn as_i64(self) -> Option<i64> {
        let power = u32::try_from(self.exponent).ok()?;
        let value = self.coefficient.checked_mul(10_i128.checked_pow(power)?)?;
        i64::try_from(value).ok()
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let signs = self.coefficient.signum().cmp(&other.coefficient.signum());
        if signs != Ordering::Equal || self.coefficient == 0 {
            return signs;
        }
        let magnitudes = self.magnitude().cmp(&other.magnitude());
        let absolute = if magnitudes == Ordering::Equal {
            // Equal magnitudes: the exponents differ by at most the 20 digits of a coefficient.
            let low = self.exponent.min(other.exponent);
            self.scaled(low).cmp(&other.scaled(low))
        } else {
            magnitudes
        };
        if self.coefficient < 0 { absolute.reverse() } else { absolute }
    }

    /// Position of the first digit: 3 for 123, 0 for 0.5.
    fn magnitude(self) -> i64 {
        i64::try_from(self.digits().len()).unwrap_or(0) + i64::from(self.exponent)
    }

    fn scaled(self, exponent: i32) -> u128 {
        let power = u32::try_from(self.exponent - exponent).unwrap_or(0);
        self.coefficient.unsigned_abs().saturating_mul(10_u128.saturating_pow(power))
    }

    fn digits(self) -> String {
        self.coefficient.unsigned_abs().to_string()
    }

    /// Whether `self / step` is a whole number; `step` is positive.
    pub(super) fn is_multiple_of(self, step: Self) -> bool {
        let value = self.coefficient.unsigned_abs();
        let divisor = step.coefficient.unsigned_abs();
        if value == 0 {
            return true;
        }
        let shift = i64::from(self.exponent) - i64::from(step.exponent);
        if shift >= 0 {
            // Coefficients are below 2^64, so no product of two remainders overflows.
            let mut rest = value % divisor;
            for _ in 0..shift {
                rest = (rest * 10) % divisor;
                if rest == 0 {
                    return true;
                }
            }
            rest == 0
        } else {
            let power = u32::try_from(-shift).ok().and_then(|p| 10_u128.checked_pow(p));
            power.and_then(|p| divisor.checked_mul(p)).is_some_and(|d| value.is_multiple_of(d))
        }
    }

    /// As Go prints a big float: shortest digits, `%e` from one million on and below one ten thousandth.
    pub(super) fn go_text(self) -> String {
        let digits = self.digits();
        let sign = if self.coefficient < 0 { "-" } else { "" };
        let count = i64::try_from(digits.len()).unwrap_or(0);
        let exponent = count + i64::from(self.exponent) - 1;
        if self.coefficient == 0 {
            return "0".to_owned();
        }
        if !(-4..6).contains(&exponent) {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let mark = if exponent < 0 { '-' } else { '+' };
            return format!("{sign}{first}{point}{rest}e{mark}{:02}", exponent.abs());
        }
        let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
        if exponent < 0 {
            format!("{sign}0.{}{digits}", zeros(-exponent - 1))
        } else if exponent + 1 >= count {
            format!("{sign}{digits}{}", zeros(exponent + 1 - count))
        } else {
            let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            format!("{sign}{whole}.{fraction}")
        }
    }
}
