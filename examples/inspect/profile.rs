//! The sets of deviations that the command line names: by a profile, or one by one.

use chatwire::{Deviation, DeviationSet};

/// The deviations that a profile is about.
pub(crate) fn profile(name: &str) -> Result<DeviationSet, &'static str> {
    let is_about: fn(&Deviation) -> bool = match name {
        "openai" => |_| true,
        "compat" => |deviation| deviation.breaks() != "none known",
        _ => return Err("the profiles are openai and compat"),
    };
    let all = Deviation::ALL.iter().copied();
    Ok(all.filter(is_about).collect())
}

/// Those of a list of codes, or all of them.
pub(crate) fn codes(list: &str) -> Result<DeviationSet, String> {
    let mut codes = DeviationSet::new();
    for code in list.split(',') {
        match Deviation::from_code(code) {
            Some(deviation) => codes.insert(deviation),
            None if code == "all" => codes = DeviationSet::all(),
            None => return Err(format!("there is no deviation {code:?}")),
        }
    }
    Ok(codes)
}
