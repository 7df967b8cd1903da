//! Reading and setting conditions.

use jiff::Timestamp;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The three values of a condition's status.
pub mod status {
    /// It holds.
    pub const TRUE: &str = "True";
    /// It does not hold.
    pub const FALSE: &str = "False";
    /// Not known.
    pub const UNKNOWN: &str = "Unknown";
}

/// What a condition shall say from now on. The texts are the wire's; take type and reason from the typed enums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// Condition type.
    pub type_: String,
    /// One of [`status`].
    pub status: &'static str,
    /// One CamelCase word.
    pub reason: String,
    /// Details for people.
    pub message: String,
    /// `metadata.generation` that the statement is about.
    pub observed_generation: Option<i64>,
}

impl Next {
    /// A condition that holds.
    pub fn yes(type_: impl AsRef<str>, reason: impl AsRef<str>, message: impl Into<String>) -> Self {
        Next::new(type_, status::TRUE, reason, message)
    }

    /// A condition that does not hold.
    pub fn no(type_: impl AsRef<str>, reason: impl AsRef<str>, message: impl Into<String>) -> Self {
        Next::new(type_, status::FALSE, reason, message)
    }

    /// A condition with any status.
    pub fn new(
        type_: impl AsRef<str>,
        status: &'static str,
        reason: impl AsRef<str>,
        message: impl Into<String>,
    ) -> Self {
        Next {
            type_: type_.as_ref().to_owned(),
            status,
            reason: reason.as_ref().to_owned(),
            message: message.into(),
            observed_generation: None,
        }
    }

    /// The same about this generation.
    #[must_use]
    pub fn at(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation;
        self
    }
}

/// The condition of this type.
pub fn find(list: &[Condition], type_: impl AsRef<str>) -> Option<&Condition> {
    let type_ = type_.as_ref();
    list.iter().find(|c| c.type_ == type_)
}

/// Present with status `True`.
pub fn is_true(list: &[Condition], type_: impl AsRef<str>) -> bool {
    find(list, type_).is_some_and(|c| c.status == status::TRUE)
}

/// Present with status `False`.
pub fn is_false(list: &[Condition], type_: impl AsRef<str>) -> bool {
    find(list, type_).is_some_and(|c| c.status == status::FALSE)
}

/// The reason of the condition of this type; `""` when absent.
pub fn reason(list: &[Condition], type_: impl AsRef<str>) -> &str {
    find(list, type_).map_or("", |c| c.reason.as_str())
}

/// Takes the condition of this type out. True if it was there.
pub fn remove(list: &mut Vec<Condition>, type_: impl AsRef<str>) -> bool {
    let type_ = type_.as_ref();
    let before = list.len();
    list.retain(|c| c.type_ != type_);
    list.len() != before
}

/// Puts `next` in `list` at the place of its type, or at the end when it is new. The transition time moves only when
/// the status flips. True if anything changed (spec/08 5.6).
pub fn set(list: &mut Vec<Condition>, next: Next, now: Timestamp) -> bool {
    let old = list.iter().position(|c| c.type_ == next.type_);
    let Some(old) = old.and_then(|i| list.get_mut(i)) else {
        list.push(build(next, Time(whole_seconds(now))));
        return true;
    };
    let since =
        if old.status == next.status { old.last_transition_time.clone() } else { Time(whole_seconds(now)) };
    let new = build(next, since);
    let changed = *old != new;
    *old = new;
    changed
}

/// As [`set`], and a condition whose status flips moves to the end of the list, as the hardware kinds do
/// (spec/04 section 3): their State column and their clients read the last one.
pub fn set_last(list: &mut Vec<Condition>, next: Next, now: Timestamp) -> bool {
    let flips = list.iter().position(|c| c.type_ == next.type_ && c.status != next.status);
    if let Some(at) = flips {
        list.remove(at);
    }
    set(list, next, now)
}

fn build(next: Next, since: Time) -> Condition {
    Condition {
        last_transition_time: since,
        message: next.message,
        observed_generation: next.observed_generation,
        reason: next.reason,
        status: next.status.to_owned(),
        type_: next.type_,
    }
}

/// The wire has whole seconds; a value that is kept in memory must equal the one that comes back.
pub fn whole_seconds(t: Timestamp) -> Timestamp {
    Timestamp::from_second(t.as_second()).unwrap_or(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn types(list: &[Condition]) -> Vec<&str> {
        list.iter().map(|c| c.type_.as_str()).collect()
    }

    #[test]
    fn transition_time_moves_only_when_the_status_flips() {
        let mut list = vec![];
        assert!(set(&mut list, Next::no("A", "InProgress", "one"), at(10)));
        assert!(set(&mut list, Next::no("A", "Failed", "two"), at(20)));
        assert_eq!(list[0].last_transition_time.0, at(10));
        assert!(set(&mut list, Next::yes("A", "Completed", "three"), at(30)));
        assert_eq!(list[0].last_transition_time.0, at(30));
        assert!(!set(&mut list, Next::yes("A", "Completed", "three"), at(40)));
        assert_eq!(list[0].last_transition_time.0, at(30));
        assert!(set(&mut list, Next::yes("A", "Completed", "three").at(Some(2)), at(50)));
        assert_eq!(list[0].observed_generation, Some(2));
        assert_eq!(list[0].last_transition_time.0, at(30));
    }

    #[test]
    fn order_of_first_appearance_is_kept() {
        let mut list = vec![];
        for t in ["A", "B", "C"] {
            set(&mut list, Next::no(t, "InProgress", ""), at(1));
        }
        set(&mut list, Next::yes("A", "Completed", ""), at(2));
        assert_eq!(types(&list), ["A", "B", "C"]);
    }

    #[test]
    fn set_last_moves_a_flipped_condition_to_the_end_and_only_that() {
        let mut list = vec![];
        for t in ["Provisioned", "Configured"] {
            set_last(&mut list, Next::no(t, "InProgress", ""), at(1));
        }
        set_last(&mut list, Next::no("Provisioned", "Failed", ""), at(2));
        assert_eq!(types(&list), ["Provisioned", "Configured"]);
        set_last(&mut list, Next::yes("Provisioned", "Completed", ""), at(3));
        assert_eq!(types(&list), ["Configured", "Provisioned"]);
        assert_eq!(list[1].last_transition_time.0, at(3));
        assert!(!set_last(&mut list, Next::yes("Provisioned", "Completed", ""), at(4)));
    }

    #[test]
    fn times_are_whole_seconds_so_that_a_round_trip_is_no_change() {
        let mut list = vec![];
        set(&mut list, Next::yes("A", "Ready", ""), Timestamp::from_nanosecond(1_500_000_001).unwrap());
        let back: Vec<Condition> = serde_json::from_value(serde_json::to_value(&list).unwrap()).unwrap();
        assert_eq!(back, list);
    }

    #[test]
    fn reading() {
        let mut list = vec![];
        set(&mut list, Next::yes("A", "Ready", ""), at(1));
        set(&mut list, Next::new("B", status::UNKNOWN, "Unknown", ""), at(1));
        assert!(is_true(&list, "A") && !is_true(&list, "B") && !is_true(&list, "C"));
        assert!(!is_false(&list, "A") && !is_false(&list, "B"));
        assert_eq!((reason(&list, "B"), reason(&list, "C")), ("Unknown", ""));
        assert!(remove(&mut list, "A") && !remove(&mut list, "A"));
        assert_eq!(types(&list), ["B"]);
    }
}
