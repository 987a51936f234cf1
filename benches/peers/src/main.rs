//! chatwire beside what else reads a Chat Completions stream: checked, timed and counted in one process.
//!
//! Without an argument it measures all and writes `results.md`, `results.svg`, and what the README shows of them. `--quick` measures chatwire, glued and
//! usual in 16 KB and 1400-byte reads, in less than a minute. `--json` prints a line for each cell instead of the tables.

mod allocations;
mod chart;
mod date;
mod floors;
mod framings;
mod json;
mod large;
mod many;
mod measure;
mod ours;
mod pipelines;
mod polled;
mod readers;
mod results;
mod session;
#[path = "../../streams/mod.rs"]
mod streams;
mod table;
mod targets;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use measure::{Budget, Cell, Measuring};
use pipelines::{ALL, Kind, Pipeline};
use results::Results;
use streams::Cut;

fn main() -> ExitCode {
    let (mut is_quick, mut is_json) = (false, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => is_quick = true,
            "--json" => is_json = true,
            _ => {
                eprintln!("usage: chatwire-peers [--quick] [--json]");
                return ExitCode::FAILURE;
            }
        }
    }
    let cells = measure(is_quick);
    if is_json {
        print!("{}", json::lines(&cells, is_quick));
        return ExitCode::SUCCESS;
    }
    let mut results = Results {
        cells,
        large: Vec::new(),
        many: Vec::new(),
    };
    if is_quick {
        print!("{}", table::table(&results));
        return ExitCode::SUCCESS;
    }
    results.large = large::measure();
    results.many = many::measure();
    write(&results)
}

const QUICK_CUTS: [Cut; 2] = [Cut::KIB_16, Cut::Bytes(1400)];

const QUICK: Budget = Budget {
    passes: 3,
    pass: Duration::from_millis(850),
};

const FULL: Budget = Budget {
    passes: 4,
    pass: Duration::from_millis(2_000),
};

fn measure(is_quick: bool) -> Vec<Cell> {
    let (cuts, budget) = if is_quick {
        (QUICK_CUTS.as_slice(), QUICK)
    } else {
        (Cut::ALL.as_slice(), FULL)
    };
    let streams = streams::all();
    let mut measuring: Vec<Measuring<'_>> = streams
        .iter()
        .flat_map(|stream| cuts.iter().map(move |cut| (stream, *cut)))
        .map(|(stream, cut)| Measuring::new(stream, cut, &wanted(cut, is_quick), budget))
        .collect();
    for pass in 1..=budget.passes {
        eprintln!("pass {pass} of {}", budget.passes);
        measuring.iter_mut().for_each(Measuring::pass);
    }
    measuring.into_iter().flat_map(Measuring::cells).collect()
}

fn wanted(cut: Cut, is_quick: bool) -> Vec<&'static Pipeline> {
    let has_floors = matches!(cut, Cut::Whole | Cut::KIB_16);
    let is_wanted = |pipeline: &&Pipeline| match pipeline.kind {
        Kind::Ours | Kind::Glued | Kind::Usual => true,
        Kind::Other => !is_quick,
        Kind::Floor => !is_quick && has_floors,
    };
    ALL.iter().filter(is_wanted).collect()
}

/// Writes what the README shows, between its two marks.
fn write_readme(path: &Path, results: &Results, date: &str) -> std::io::Result<()> {
    let readme = std::fs::read_to_string(path)?;
    let marked = readme
        .split_once("<!-- speed -->\n")
        .and_then(|(before, rest)| Some((before, rest.split_once("<!-- /speed -->")?.1)));
    let Some((before, after)) = marked else {
        return Err(std::io::Error::other("no marks in the README"));
    };
    let speed = table::readme(results, date);
    let text = format!("{before}<!-- speed -->\n{speed}<!-- /speed -->{after}");
    std::fs::write(path, text)
}

fn write(results: &Results) -> ExitCode {
    let date = date::today();
    let page = table::page(results, &date);
    print!("{page}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let written = std::fs::write(here.join("results.md"), &page)
        .and_then(|()| std::fs::write(here.join("results.svg"), chart::svg(results, &date)))
        .and_then(|()| write_readme(&here.join("../../README.md"), results, &date));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the results could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}
