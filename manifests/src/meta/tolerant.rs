//! Objects without a `spec` decode.
//!
//! The published CRDs do not require `spec`, so an object without one can be stored; it must not stop a typed watch.

/// Implements serde for a type that is declared `#[serde(remote = "Self")]` so that a missing or null field of that
/// type decodes to its default.
macro_rules! absent_is_default {
    ($($name:ident),+ $(,)?) => { $(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $name::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Absent;

                impl<'de> serde::de::Visitor<'de> for Absent {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_none<E>(self) -> Result<$name, E> {
                        Ok($name::default())
                    }

                    fn visit_unit<E>(self) -> Result<$name, E> {
                        Ok($name::default())
                    }

                    fn visit_some<D: serde::Deserializer<'de>>(self, d: D) -> Result<$name, D::Error> {
                        $name::deserialize(d)
                    }
                }

                deserializer.deserialize_option(Absent)
            }
        }
    )+ };
}

pub(crate) use absent_is_default;
