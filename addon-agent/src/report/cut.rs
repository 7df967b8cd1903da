//! Cutting texts and lists to the bounds of a SpokeReport.

/// Bytes that a character takes in JSON.
fn encoded(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

/// The text, or its beginning and three points when it takes more than `limit` bytes in JSON.
pub(super) fn text(whole: &str, limit: usize) -> String {
    const POINTS: &str = "...";
    let mut used = 0;
    let mut fits = 0;
    for (at, c) in whole.char_indices() {
        used += encoded(c);
        if used > limit {
            return format!("{}{POINTS}", whole.get(..fits).unwrap_or_default());
        }
        if used + POINTS.len() <= limit {
            fits = at + c.len_utf8();
        }
    }
    whole.to_owned()
}

/// The first `limit` items; `left` says how many there were beyond.
pub(super) fn list<T>(mut items: Vec<T>, limit: usize, left: &mut i32) -> Vec<T> {
    *left = i32::try_from(items.len().saturating_sub(limit)).unwrap_or(i32::MAX);
    items.truncate(limit);
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::fits("abcdef", 6, "abcdef")]
    #[case::cut("abcdefg", 6, "abc...")]
    #[case::quotes("\"\"\"\"", 8, "\"\"\"\"")]
    #[case::quotes_cut("\"\"\"\"\"", 8, "\"\"...")]
    #[case::umlauts("äöüßä", 9, "äöü...")]
    #[case::controls("\u{1}\u{1}", 11, "\u{1}...")]
    #[case::nothing("", 5, "")]
    fn texts(#[case] whole: &str, #[case] limit: usize, #[case] want: &str) {
        let got = text(whole, limit);
        assert_eq!(got, want);
        assert!(serde_json::to_string(&got).unwrap().len() - 2 <= limit);
    }

    #[test]
    fn lists() {
        let mut left = 0;
        assert_eq!(list(vec![1, 2, 3], 2, &mut left), [1, 2]);
        assert_eq!(left, 1);
        assert_eq!(list(vec![1], 2, &mut left), [1]);
        assert_eq!(left, 0);
    }
}
