//! The `hardwaredata/` criteria of a resource selector: `hardwaredata/<field>[;<qualifier>]*: <value>` (spec/04 5.3).
//!
//! A criterion is read once per node group and then held against many hosts. Everything that can be wrong with it is
//! found while it is read, also when no host gets that far.

use std::collections::BTreeSet;

use manifests::metal3::{HardwareDetails, Nic, Storage};

/// Prefix of the selector keys that are criteria on the hardware.
pub(super) const PREFIX: &str = "hardwaredata/";

/// Why a criterion cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// A number was expected.
    #[error("invalid value: {0}")]
    Value(String),
    /// Numbers take one comparison.
    #[error("supports at most one qualifier")]
    TooManyQualifiers,
    /// Not a qualifier of this field.
    #[error("invalid qualifier: {0}")]
    Qualifier(String),
    /// The comparison does not fit the kind of the value.
    #[error("invalid operator: {0}")]
    Operator(String),
    /// Sets of devices only know presence.
    #[error("expected value to be 'present', actual value: {0}")]
    NotPresent(String),
    /// The field does not exist.
    #[error(
        "unknown field: {0} (known: cpu_arch, cpu_model, num_threads, ramMebibytes, manufacturer, productname, nics, \
         storage)"
    )]
    Field(String),
    /// A device has no such property.
    #[error("unknown property: {name} (known: {known})")]
    Property {
        /// What was asked for.
        name: String,
        /// What exists.
        known: &'static str,
    },
    /// A failing step, as upstream names it.
    #[error("{step} failed: {source}")]
    Step {
        /// Name of the check.
        step: &'static str,
        /// What went wrong in it.
        source: Box<GrammarError>,
    },
}

impl GrammarError {
    fn in_step(self, step: &'static str) -> Self {
        GrammarError::Step { step, source: Box::new(self) }
    }
}

/// One criterion, ready to be held against hosts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Criterion {
    /// The whole selector key, for messages.
    pub key: String,
    /// The selector value, for messages.
    pub value: String,
    check: Check,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Check {
    Text { field: TextField, wanted: String, substring: bool, icase: bool },
    Number { field: NumberField, op: NumberOp, wanted: i64 },
    Nics(Devices),
    Storage(Devices),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextField {
    CpuArch,
    CpuModel,
    Manufacturer,
    ProductName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum NumberField {
    Threads,
    Ram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum NumberOp {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl NumberOp {
    fn holds(self, actual: i64, wanted: i64) -> bool {
        match self {
            NumberOp::Equal => actual == wanted,
            NumberOp::NotEqual => actual != wanted,
            NumberOp::Greater => actual > wanted,
            NumberOp::GreaterOrEqual => actual >= wanted,
            NumberOp::Less => actual < wanted,
            NumberOp::LessOrEqual => actual <= wanted,
        }
    }

    /// Operators of device properties.
    fn of_sign(sign: &str) -> Option<Self> {
        Some(match sign {
            "=" | "==" => NumberOp::Equal,
            "!=" => NumberOp::NotEqual,
            ">" => NumberOp::Greater,
            ">=" => NumberOp::GreaterOrEqual,
            "<" => NumberOp::Less,
            "<=" => NumberOp::LessOrEqual,
            _ => return None,
        })
    }

    /// Qualifiers of number fields: signs or words.
    fn of_qualifier(text: &str) -> Option<Self> {
        Some(match text {
            "eq" => NumberOp::Equal,
            "neq" => NumberOp::NotEqual,
            "gt" => NumberOp::Greater,
            "gte" => NumberOp::GreaterOrEqual,
            "lt" => NumberOp::Less,
            "lte" => NumberOp::LessOrEqual,
            sign => return NumberOp::of_sign(sign),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextOp {
    Equal,
    NotEqual,
    Contains,
    ContainsNot,
}

impl TextOp {
    fn of_sign(sign: &str) -> Option<Self> {
        Some(match sign {
            "=" | "==" => TextOp::Equal,
            "!=" => TextOp::NotEqual,
            "~" => TextOp::Contains,
            "!~" => TextOp::ContainsNot,
            _ => return None,
        })
    }

    fn negates(self) -> bool {
        matches!(self, TextOp::NotEqual | TextOp::ContainsNot)
    }

    fn holds(self, actual: &str, wanted: &str, icase: bool) -> bool {
        match self {
            TextOp::Equal => equal(actual, wanted, icase),
            TextOp::NotEqual => !equal(actual, wanted, icase),
            TextOp::Contains => contains(actual, wanted, icase),
            TextOp::ContainsNot => !contains(actual, wanted, icase),
        }
    }
}

/// Conditions that one device must meet together, and how many devices must.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Devices {
    icase: bool,
    texts: Vec<(TextProperty, TextOp, String)>,
    numbers: Vec<(NumberOp, i64)>,
    counts: Vec<(NumberOp, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextProperty {
    Model,
    Type,
    Vendor,
    Name,
}

const NIC_PROPERTIES: &str = "model, speedGbps, count, icase";
const STORAGE_PROPERTIES: &str = "type, model, vendor, name, sizeBytes, count, icase";

impl Criterion {
    /// Reads one selector entry whose key starts with [`PREFIX`].
    ///
    /// # Errors
    /// When the field, a qualifier or the value is not of the grammar.
    pub fn parse(key: &str, value: &str) -> Result<Self, GrammarError> {
        let mut parts = key.strip_prefix(PREFIX).unwrap_or(key).split(';');
        let field = parts.next().unwrap_or_default();
        let qualifiers: Vec<&str> = parts.collect();
        let text =
            |field| text_check(field, &qualifiers, value).map_err(|e| e.in_step("checkStringWithQualifiers"));
        let number =
            |field| number_check(field, &qualifiers, value).map_err(|e| e.in_step("checkIntWithQualifiers"));
        let check = match field {
            "cpu_arch" => text(TextField::CpuArch)?,
            "cpu_model" => text(TextField::CpuModel)?,
            "manufacturer" => text(TextField::Manufacturer)?,
            "productname" => text(TextField::ProductName)?,
            "num_threads" => number(NumberField::Threads)?,
            "ramMebibytes" => number(NumberField::Ram)?,
            "nics" => {
                let read = |name: &str| (name == "model").then_some(TextProperty::Model);
                Check::Nics(
                    device_check(&qualifiers, value, read, "speedGbps", NIC_PROPERTIES)
                        .map_err(|e| e.in_step("checkNicsWithQualifiers"))?,
                )
            }
            "storage" => {
                let read = |name: &str| match name {
                    "type" => Some(TextProperty::Type),
                    "model" => Some(TextProperty::Model),
                    "vendor" => Some(TextProperty::Vendor),
                    "name" => Some(TextProperty::Name),
                    _ => None,
                };
                Check::Storage(
                    device_check(&qualifiers, value, read, "sizeBytes", STORAGE_PROPERTIES)
                        .map_err(|e| e.in_step("checkStorageWithQualifiers"))?,
                )
            }
            other => return Err(GrammarError::Field(other.to_owned())),
        };
        Ok(Criterion { key: key.to_owned(), value: value.to_owned(), check })
    }

    /// `None` when the hardware meets the criterion, else what it has instead.
    pub fn unmet(&self, hardware: &HardwareDetails) -> Option<String> {
        match &self.check {
            Check::Text { field, wanted, substring, icase } => {
                let actual = match field {
                    TextField::CpuArch => &hardware.cpu.arch,
                    TextField::CpuModel => &hardware.cpu.model,
                    TextField::Manufacturer => &hardware.system_vendor.manufacturer,
                    TextField::ProductName => &hardware.system_vendor.product_name,
                };
                let holds =
                    if *substring { contains(actual, wanted, *icase) } else { equal(actual, wanted, *icase) };
                (!holds).then(|| format!("the host has {actual:?}"))
            }
            Check::Number { field, op, wanted } => {
                let actual = match field {
                    NumberField::Threads => hardware.cpu.count,
                    NumberField::Ram => hardware.ram_mebibytes,
                };
                (!op.holds(actual, *wanted)).then(|| format!("the host has {actual}"))
            }
            Check::Nics(devices) => {
                // A dual-stack NIC is listed once per address family (B11).
                let found: BTreeSet<String> = hardware
                    .nics
                    .iter()
                    .filter(|nic| devices.fit_nic(nic))
                    .map(|nic| if nic.mac.is_empty() { nic.name.to_string() } else { nic.mac.to_lowercase() })
                    .collect();
                devices.unmet_count(found.len(), "NICs")
            }
            Check::Storage(devices) => {
                let found = hardware.storage.iter().filter(|disk| devices.fit_disk(disk)).count();
                devices.unmet_count(found, "disks")
            }
        }
    }
}

impl Devices {
    fn fit_nic(&self, nic: &Nic) -> bool {
        self.texts.iter().all(|(_, op, wanted)| op.holds(&nic.model, wanted, self.icase))
            && self.numbers.iter().all(|(op, wanted)| op.holds(nic.speed_gbps, *wanted))
    }

    fn fit_disk(&self, disk: &Storage) -> bool {
        self.texts.iter().all(|(property, op, wanted)| match property {
            TextProperty::Model => op.holds(&disk.model, wanted, self.icase),
            TextProperty::Type => op.holds(&disk.kind, wanted, self.icase),
            TextProperty::Vendor => op.holds(&disk.vendor, wanted, self.icase),
            TextProperty::Name => {
                let mut names = std::iter::once(&disk.name).chain(&disk.alternate_names);
                // A negation holds for the device, so for every name of it (B11).
                if op.negates() {
                    names.all(|n| op.holds(n, wanted, self.icase))
                } else {
                    names.any(|n| op.holds(n, wanted, self.icase))
                }
            }
        }) && self.numbers.iter().all(|(op, wanted)| op.holds(disk.size_bytes, *wanted))
    }

    fn unmet_count(&self, found: usize, what: &str) -> Option<String> {
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        let holds = if self.counts.is_empty() {
            found > 0
        } else {
            self.counts.iter().all(|(op, wanted)| op.holds(found, *wanted))
        };
        (!holds).then(|| format!("{found} {what} of the host fit"))
    }
}

fn text_check(field: TextField, qualifiers: &[&str], value: &str) -> Result<Check, GrammarError> {
    let (mut substring, mut icase) = (false, false);
    for qualifier in qualifiers {
        match *qualifier {
            "substring" => substring = true,
            "icase" => icase = true,
            other => return Err(GrammarError::Qualifier(other.to_owned())),
        }
    }
    Ok(Check::Text { field, wanted: value.to_owned(), substring, icase })
}

fn number_check(field: NumberField, qualifiers: &[&str], value: &str) -> Result<Check, GrammarError> {
    let mut comparisons = qualifiers.iter().filter(|q| **q != "icase");
    let wanted = value.parse().map_err(|_| GrammarError::Value(value.to_owned()))?;
    let op = match (comparisons.next(), comparisons.next()) {
        (None, _) => NumberOp::Equal,
        (Some(_), Some(_)) => return Err(GrammarError::TooManyQualifiers),
        (Some(q), None) => {
            NumberOp::of_qualifier(q).ok_or_else(|| GrammarError::Qualifier((*q).to_owned()))?
        }
    };
    Ok(Check::Number { field, op, wanted })
}

fn device_check(
    qualifiers: &[&str],
    value: &str,
    text: impl Fn(&str) -> Option<TextProperty>,
    number: &str,
    known: &'static str,
) -> Result<Devices, GrammarError> {
    if value != "present" {
        return Err(GrammarError::NotPresent(value.to_owned()));
    }
    let mut devices = Devices::default();
    for qualifier in qualifiers {
        if *qualifier == "icase" {
            devices.icase = true;
            continue;
        }
        let (name, sign, wanted) = split(qualifier)
            .ok_or_else(|| GrammarError::Qualifier((*qualifier).to_owned()))
            .map_err(|e| e.in_step("qualifierSetFromQualifiers"))?;
        if let Some(property) = text(name) {
            let op = TextOp::of_sign(sign).ok_or_else(|| {
                GrammarError::Operator(sign.to_owned()).in_step("checkStringWithOpQualifier")
            })?;
            devices.texts.push((property, op, wanted.to_owned()));
        } else if name == number || name == "count" {
            let step = "checkIntWithOpQualifier";
            let op = NumberOp::of_sign(sign)
                .ok_or_else(|| GrammarError::Operator(sign.to_owned()).in_step(step))?;
            let wanted = wanted.parse().map_err(|_| GrammarError::Value(wanted.to_owned()).in_step(step))?;
            if name == "count" {
                devices.counts.push((op, wanted));
            } else {
                devices.numbers.push((op, wanted));
            }
        } else {
            return Err(GrammarError::Property { name: name.to_owned(), known });
        }
    }
    Ok(devices)
}

/// `^([^!<>=~]+)([!<>=~]+)(.*)$`
fn split(qualifier: &str) -> Option<(&str, &str, &str)> {
    let is_sign = |c: char| matches!(c, '!' | '<' | '>' | '=' | '~');
    let start = qualifier.find(is_sign).filter(|start| *start > 0)?;
    let (name, rest) = qualifier.split_at(start);
    let end = rest.find(|c| !is_sign(c)).unwrap_or(rest.len());
    let (sign, value) = rest.split_at(end);
    Some((name, sign, value))
}

fn equal(actual: &str, wanted: &str, icase: bool) -> bool {
    actual == wanted || (icase && actual.to_lowercase() == wanted.to_lowercase())
}

fn contains(actual: &str, wanted: &str, icase: bool) -> bool {
    actual.contains(wanted) || (icase && actual.to_lowercase().contains(&wanted.to_lowercase()))
}
