//! Go's regular expressions in terms of the `regex` crate. Both are without look-around; they differ in ASCII classes,
//! in set notation inside brackets and in how a stray `{` is read.

use regex::Regex;

/// Go refuses larger counts in `x{n,m}`.
const MAX_REPEAT: u32 = 1000;

/// Compiles `pattern` with Go's meaning; `None` where Go refuses it (or the program would be too large).
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(&translate(pattern)?).ok()
}

fn translate(pattern: &str) -> Option<String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut i = 0;
    while let Some(&c) = chars.get(i) {
        match c {
            '\\' => i = escape(&chars, i, &mut out)?,
            '[' => i = class(&chars, i, &mut out)?,
            '{' => {
                let count = repeat(chars.get(i + 1..).unwrap_or_default());
                match count {
                    Some(high) if high > MAX_REPEAT => return None,
                    Some(_) => out.push('{'),
                    None => out.push_str("\\{"),
                }
                i += 1;
            }
            c => {
                out.push(c);
                i += 1;
            }
        }
    }
    Some(out)
}

/// The largest count of a repetition whose text after `{` is `rest`; `None` if it is no repetition.
fn repeat(rest: &[char]) -> Option<u32> {
    let end = rest.iter().position(|&c| c == '}')?;
    let body: String = rest.get(..end)?.iter().collect();
    let (low, high) = body.split_once(',').unwrap_or((&body, &body));
    let number = |text: &str| -> Option<u32> {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse().unwrap_or(u32::MAX))
    };
    let low = number(low)?;
    Some(if high.is_empty() { low } else { low.max(number(high)?) })
}

/// The ASCII range that Go means by `\d`, `\w`, `\s`.
fn ascii(letter: char) -> Option<&'static str> {
    match letter.to_ascii_lowercase() {
        'd' => Some("0-9"),
        'w' => Some("0-9A-Za-z_"),
        's' => Some("\\t\\n\\x0C\\r "),
        _ => None,
    }
}

/// Reads one escape outside of brackets; returns the index after it.
fn escape(chars: &[char], at: usize, out: &mut String) -> Option<usize> {
    let &letter = chars.get(at + 1)?;
    match letter {
        'Q' => {
            let mut i = at + 2;
            while let Some(&c) = chars.get(i) {
                if c == '\\' && chars.get(i + 1) == Some(&'E') {
                    return Some(i + 2);
                }
                out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
                i += 1;
            }
            return Some(i);
        }
        'b' | 'B' => {
            out.push_str("(?-u:\\");
            out.push(letter);
            out.push(')');
        }
        'p' | 'P' | 'x' if chars.get(at + 2) == Some(&'{') => {
            let length = chars.get(at..)?.iter().position(|&c| c == '}')? + 1;
            out.extend(chars.get(at..at + length)?);
            return Some(at + length);
        }
        '<' | '>' => out.push(letter),
        _ => {
            if let Some(range) = ascii(letter) {
                out.push_str(if letter.is_ascii_uppercase() { "[^" } else { "[" });
                out.push_str(range);
                out.push(']');
            } else {
                out.push('\\');
                out.push(letter);
            }
        }
    }
    Some(at + 2)
}

/// Reads one bracket expression; returns the index after it.
fn class(chars: &[char], at: usize, out: &mut String) -> Option<usize> {
    let mut i = at + 1;
    out.push('[');
    if chars.get(i) == Some(&'^') {
        out.push('^');
        i += 1;
    }
    let first = i;
    loop {
        let &c = chars.get(i)?;
        match c {
            ']' if i > first => {
                out.push(']');
                return Some(i + 1);
            }
            '\\' => {
                let &letter = chars.get(i + 1)?;
                match ascii(letter) {
                    Some(range) if letter.is_ascii_uppercase() => {
                        out.push_str("[^");
                        out.push_str(range);
                        out.push(']');
                    }
                    Some(range) => out.push_str(range),
                    None if matches!(letter, '<' | '>') => out.push(letter),
                    None => {
                        out.push('\\');
                        out.push(letter);
                    }
                }
                i += 2;
            }
            '[' if chars.get(i + 1) == Some(&':') => {
                let length = chars.get(i..)?.windows(2).position(|w| w == [':', ']'])?;
                out.extend(chars.get(i..i + length + 2)?);
                i += length + 2;
            }
            ']' | '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
                i += 1;
            }
            '-' if i == first || chars.get(i - 1) == Some(&'-') || chars.get(i + 1) == Some(&']') => {
                out.push_str("\\-");
                i += 1;
            }
            c => {
                out.push(c);
                i += 1;
            }
        }
    }
}
