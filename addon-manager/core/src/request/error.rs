//! Why a stage of a request cannot go on (spec/02 1.2).

/// Who can do something about an [`InputError`], and whether trying again by itself helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The user must change something (input, ConfigMap, Secret, HardwareProfile). The condition says what; a change
    /// of what is named wakes us, there is no hot retry.
    Input,
    /// Anything else: the pass is tried again with back-off.
    Internal,
}

/// Why a stage stopped: the text of its condition, without the prefix of the condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    /// What is wrong, in the words of spec/02.
    pub message: String,
    /// Who can do something about it.
    pub class: Class,
}

impl InputError {
    /// Something that the user must change.
    pub fn input(message: impl Into<String>) -> Self {
        InputError { message: message.into(), class: Class::Input }
    }

    /// Something that is tried again.
    pub fn internal(message: impl Into<String>) -> Self {
        InputError { message: message.into(), class: Class::Internal }
    }

    /// The same with `prefix` before the text.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.message.insert_str(0, prefix);
        self
    }

    /// True when only the user can help.
    pub fn is_input(&self) -> bool {
        self.class == Class::Input
    }
}
