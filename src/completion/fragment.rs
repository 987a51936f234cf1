//! A fragment of a call, of any kind, as what it says.

use super::ledger::filled;
use crate::chunk::{FunctionDelta, Halves, ToolCallDelta};

/// A fragment of a call, whatever kind of call it is.
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u32>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
    pub(super) halves: Halves,
    pub(super) is_custom: bool,
    pub(super) is_legacy: bool,
    pub(super) has_type: bool,
    /// An entry of a whole message: a call of its own.
    pub(super) is_whole: bool,
}

impl<'a> Fragment<'a> {
    pub(super) fn of_tool_call(delta: &'a ToolCallDelta, is_whole: bool) -> Self {
        let (name, arguments, halves) = match (&delta.function, &delta.custom) {
            (Some(function), _) => (&function.name, &function.arguments, function.halves),
            (None, Some(custom)) => (&custom.name, &custom.input, custom.halves),
            (None, None) => (&None, &None, Halves::default()),
        };
        Self {
            index: delta.index,
            id: filled(&delta.id),
            name: filled(name),
            arguments: arguments.as_deref().unwrap_or_default(),
            halves,
            is_custom: delta.function.is_none()
                && (delta.custom.is_some() || delta.r#type.as_deref() == Some("custom")),
            is_legacy: false,
            has_type: filled(&delta.r#type).is_some(),
            is_whole,
        }
    }

    pub(super) fn of_function_call(delta: &'a FunctionDelta) -> Self {
        Self {
            index: None,
            id: None,
            name: filled(&delta.name),
            arguments: delta.arguments.as_deref().unwrap_or_default(),
            halves: delta.halves,
            is_custom: false,
            is_legacy: true,
            has_type: false,
            is_whole: false,
        }
    }
}
