//! Small readers and writers over `serde_json::Value` objects of the API server.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Namespace (empty for cluster-scoped kinds) and name.
pub(crate) type Key = (String, String);

/// The value at a JSON pointer, `Null` when absent.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// The string at a JSON pointer, empty when absent.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).as_str().unwrap_or_default()
}

/// The boolean at a JSON pointer, false when absent.
pub(crate) fn flag(value: &Value, pointer: &str) -> bool {
    at(value, pointer).as_bool().unwrap_or_default()
}

/// The number at a JSON pointer, 0 when absent.
pub(crate) fn number(value: &Value, pointer: &str) -> i64 {
    at(value, pointer).as_i64().unwrap_or_default()
}

/// The items of the list at a JSON pointer, none when absent.
pub(crate) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entries of the object at a JSON pointer, none when absent.
pub(crate) fn entries<'a>(value: &'a Value, pointer: &str) -> Vec<(&'a str, &'a Value)> {
    at(value, pointer)
        .as_object()
        .map(|m| m.iter().map(|(k, v)| (k.as_str(), v)).collect())
        .unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

pub(crate) fn key(object: &Value) -> Key {
    (namespace(object).to_owned(), name(object).to_owned())
}

pub(crate) fn generation(object: &Value) -> i64 {
    number(object, "/metadata/generation")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !at(object, "/metadata/deletionTimestamp").is_null()
}

pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    at(object, "/metadata/annotations").get(name).and_then(Value::as_str)
}

pub(crate) fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    at(object, "/metadata/labels").get(name).and_then(Value::as_str)
}

pub(crate) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    items(object, "/metadata/finalizers").iter().any(|f| f == finalizer)
}

/// Whether a comma list in an annotation has the word.
pub(crate) fn annotation_lists(object: &Value, annotation_name: &str, word: &str) -> bool {
    annotation(object, annotation_name).is_some_and(|list| list.split(',').any(|w| w.trim() == word))
}

/// Puts `value` at `path` (keys joined by `/`), making objects on the way.
pub(crate) fn put(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in path.split('/').filter(|s| !s.is_empty()) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(step).or_insert(Value::Null);
    }
    *place = value;
}

/// Removes the key at `path` (keys joined by `/`).
pub(crate) fn remove(object: &mut Value, path: &str) {
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        map.remove(last);
    }
}

/// Now, in whole seconds, as the API server prints it.
pub(crate) fn now() -> String {
    stamp(Timestamp::now())
}

pub(crate) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How long ago a time of an object was; zero when absent or in the future.
pub(crate) fn age(time: &str) -> Duration {
    let Ok(then) = time.parse::<Timestamp>() else { return Duration::ZERO };
    Duration::try_from(Timestamp::now().duration_since(then)).unwrap_or_default()
}

/// `300ms`, `5s`, `2m`, `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (count, unit) = text.split_at(unit);
    let count: f64 = count.parse().ok()?;
    let seconds = match unit {
        "ms" => count / 1000.0,
        "s" => count,
        "m" => count * 60.0,
        "h" => count * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// A condition as the API server's kinds have it.
pub(crate) struct Condition<'a> {
    pub(crate) type_: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    pub(crate) generation: Option<i64>,
}

/// Sets a condition in the list at `path` (keys joined by `/`); the transition time moves only when the status flips.
/// True when something changed.
pub(crate) fn set_condition(object: &mut Value, path: &str, next: &Condition<'_>) -> bool {
    let pointer = format!("/{}", path.trim_start_matches('/'));
    if !at(object, &pointer).is_array() {
        put(object, path, json!([]));
    }
    let Some(list) = object.pointer_mut(&pointer).and_then(Value::as_array_mut) else { return false };
    let mut wanted = json!({
        "type": next.type_, "status": next.status, "reason": next.reason, "message": next.message,
    });
    if let Some(generation) = next.generation {
        put(&mut wanted, "observedGeneration", json!(generation));
    }
    if let Some(old) = list.iter_mut().find(|c| text(c, "/type") == next.type_) {
        let since = if text(old, "/status") == next.status {
            text(old, "/lastTransitionTime").to_owned()
        } else {
            now()
        };
        put(&mut wanted, "lastTransitionTime", json!(since));
        let changed = *old != wanted;
        *old = wanted;
        return changed;
    }
    put(&mut wanted, "lastTransitionTime", json!(now()));
    list.push(wanted);
    true
}

/// The condition of that type in the list at the JSON pointer.
pub(crate) fn condition<'a>(object: &'a Value, pointer: &str, type_: &str) -> Option<&'a Value> {
    items(object, pointer).iter().find(|c| text(c, "/type") == type_)
}

/// The first `count` bytes in hex.
pub(crate) fn hex(bytes: &[u8], count: usize) -> String {
    bytes.iter().take(count).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        assert_eq!(duration("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Some(Duration::from_mins(2)));
        assert_eq!(duration("5"), None);
        assert_eq!(duration("x"), None);
    }

    #[test]
    fn puts_and_removes_nested_values() {
        let mut object = json!({"a": 1});
        put(&mut object, "status/provisioning/state", json!("available"));
        assert_eq!(object, json!({"a": 1, "status": {"provisioning": {"state": "available"}}}));
        remove(&mut object, "/status/provisioning/state");
        assert_eq!(object, json!({"a": 1, "status": {"provisioning": {}}}));
    }

    #[test]
    fn moves_the_transition_time_only_with_the_status() {
        let mut object = json!({"status": {"conditions": [{"type": "A", "status": "True", "reason": "R",
            "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}});
        let next = Condition { type_: "A", status: "True", reason: "R", message: "other", generation: None };
        assert!(set_condition(&mut object, "status/conditions", &next));
        assert_eq!(text(&object, "/status/conditions/0/lastTransitionTime"), "2020-01-01T00:00:00Z");
        assert!(!set_condition(&mut object, "status/conditions", &next));
        let next = Condition { status: "False", ..next };
        assert!(set_condition(&mut object, "status/conditions", &next));
        assert_ne!(text(&object, "/status/conditions/0/lastTransitionTime"), "2020-01-01T00:00:00Z");
    }
}
