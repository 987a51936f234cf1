//! What chatwire is to reach, beside what it reached in this run.

use crate::results::Results;

/// A number that is to be at least, or at most, something.
pub struct Target {
    pub what: String,
    pub is_at_least: bool,
    pub bound: Option<f64>,
    pub stretch: Option<f64>,
    pub measured: Option<f64>,
}

impl Target {
    pub fn verdict(&self) -> &'static str {
        let Some(measured) = self.measured else {
            return "not measured";
        };
        let reaches = |bound: Option<f64>| {
            bound.is_some_and(|bound| {
                if self.is_at_least {
                    measured >= bound
                } else {
                    measured <= bound
                }
            })
        };
        if reaches(self.stretch) {
            "stretch"
        } else if reaches(self.bound) {
            "met"
        } else if self.bound.is_none() {
            "stretch missed"
        } else {
            "missed"
        }
    }
}

/// How many times as fast as the best glued pipeline: stream, cut, target, stretch.
const SPEEDS: [(&str, &str, f64, f64); 14] = [
    ("content", "16k", 6.0, 10.0),
    ("cjk", "16k", 6.0, 10.0),
    ("tools", "16k", 5.0, 8.0),
    ("logprobs", "16k", 1.5, 2.5),
    ("fat", "16k", 1.2, 2.0),
    ("plain", "16k", 1.0, 1.5),
    ("content", "1400", 4.5, 8.0),
    ("content", "1", 1.0, 1.5),
    ("cjk", "1", 1.0, 1.5),
    ("tools", "1", 1.0, 1.5),
    ("logprobs", "1", 1.0, 1.5),
    ("fat", "1", 1.0, 1.5),
    ("miss", "1", 1.0, 1.5),
    ("plain", "1", 1.0, 1.5),
];

pub fn targets(results: &Results) -> Vec<Target> {
    let mut targets: Vec<Target> = SPEEDS
        .iter()
        .map(|(stream, cut, bound, stretch)| Target {
            what: format!("{stream}, {cut}: speed against glued"),
            is_at_least: true,
            bound: Some(*bound),
            stretch: Some(*stretch),
            measured: results.our_speed(stream, cut),
        })
        .collect();
    let mut at_most = |what: &str, bound, stretch, measured| {
        targets.push(Target {
            what: what.to_owned(),
            is_at_least: false,
            bound,
            stretch,
            measured,
        });
    };
    let ns = |stream, pipeline| results.cell(stream, "16k", pipeline)?.best_ns();
    let ratio = |one: Option<f64>, another: Option<f64>| Some(one? / another?);
    at_most(
        "content, 16k: time against memchr2 + simdutf8",
        None,
        Some(2.0),
        ratio(ns("content", "chatwire"), ns("content", "memchr2+simdutf8")),
    );
    at_most(
        "miss, 16k: time against plain",
        Some(1.2),
        Some(1.05),
        ratio(ns("miss", "chatwire"), ns("plain", "chatwire")),
    );
    let large = |cut: &str| {
        let row = results
            .large
            .iter()
            .find(|row| row.pipeline == "chatwire" && row.cut == cut)?;
        Some(row.best_ns)
    };
    at_most(
        "64 MB in one feed: time against 16 KB reads",
        Some(1.5),
        Some(1.1),
        ratio(large("whole"), large("16k")),
    );
    let ours = results.many.iter().find(|row| row.pipeline == "chatwire");
    at_most(
        "10,000 parsers: KiB each beside the text",
        Some(6.0),
        Some(3.0),
        ours.map(|row| row.peak_bytes / 1024.0),
    );
    let glued = results
        .many
        .iter()
        .filter(|row| row.is_glued && row.is_right)
        .map(|row| row.best_ns)
        .reduce(f64::min);
    at_most(
        "10,000 parsers: time against glued",
        Some(0.7),
        None,
        ratio(ours.map(|row| row.best_ns), glued),
    );
    targets
}
