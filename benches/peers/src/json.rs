//! One line of JSON for each cell.

use serde::Serialize;

use crate::measure::Cell;
use crate::pipelines::Kind;

#[derive(Serialize)]
struct Line<'a> {
    stream: &'a str,
    cut: &'a str,
    pipeline: &'a str,
    ns_best: f64,
    ns_median: f64,
    allocs: f64,
    ok: bool,
}

/// The lines of some cells. The yardstick has one of its own too, as `glued`. Those that were too slow have none.
///
/// `only_best`: of the glued only that one.
pub fn lines(cells: &[Cell], only_best: bool) -> String {
    let mut lines = String::new();
    for cell in cells {
        if cell.kind != Kind::Glued || !only_best {
            lines.extend(line(cell, cell.pipeline));
        }
        if cell.is_yardstick {
            lines.extend(line(cell, "glued"));
        }
    }
    lines
}

fn line(cell: &Cell, pipeline: &str) -> Option<String> {
    let time = cell.time?;
    let line = Line {
        stream: cell.stream,
        cut: &cell.cut,
        pipeline,
        ns_best: rounded(time.best_ns),
        ns_median: rounded(time.median_ns),
        allocs: rounded(cell.allocations),
        ok: cell.is_right,
    };
    let json = serde_json::to_string(&line).expect("numbers and texts");
    Some(json + "\n")
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
