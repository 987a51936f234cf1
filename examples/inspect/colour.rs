//! Colours, where a terminal shows them.

use std::ffi::OsStr;

/// When there are colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    pub(crate) fn from_name(name: &str) -> Result<Self, &'static str> {
        match name {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err("it is auto, always or never"),
        }
    }

    /// By itself only on a terminal that knows them, and never against <https://no-color.org>.
    pub(crate) fn is_wanted(
        self,
        is_terminal: bool,
        no_color: Option<&OsStr>,
        term: Option<&OsStr>,
    ) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && no_color.is_none_or(OsStr::is_empty)
                    && term.is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// How a row is shown: the parameters of `ESC [ m`.
pub(crate) fn style(label: &str) -> &'static str {
    match label.split(' ').next().unwrap_or_default() {
        "ERROR" | "CUT" => "1;31",
        "deviation" => "33",
        "call" | "end" => "1;32",
        "first" | "finish" | "usage" | "start" => "36",
        "reasoning" => "2",
        _ => "",
    }
}
