//! The results as Markdown.

use std::fmt::{Error, Write};

use crate::many::PARSERS;
use crate::measure::{Cell, TOO_SLOW};
use crate::pipelines::{ALL, Kind};
use crate::results::Results;
use crate::targets::targets;

pub const COMMAND: &str = "cargo run --release --manifest-path benches/peers/Cargo.toml";

pub fn page(results: &Results, date: &str) -> String {
    let mut page = String::new();
    write_page(&mut page, results, date).expect("a String takes all");
    page
}

/// What the README shows.
pub fn readme(results: &Results, date: &str) -> String {
    let mut text = String::new();
    write_readme(&mut text, results, date).expect("a String takes all");
    text
}

fn write_readme(text: &mut String, results: &Results, date: &str) -> Result<(), Error> {
    writeln!(text, "On {date}, in 16 KB reads:\n")?;
    writeln!(
        text,
        "![How many times as fast](benches/peers/results.svg)\n"
    )?;
    write_rows(text, results)
}

/// Only the table of cells.
pub fn table(results: &Results) -> String {
    let mut table = String::new();
    write_cells(&mut table, results).expect("a String takes all");
    table
}

fn write_page(page: &mut String, results: &Results, date: &str) -> Result<(), Error> {
    writeln!(page, "# chatwire beside its peers\n")?;
    writeln!(
        page,
        "Written on {date} by `{COMMAND}`: all pipelines in one process, taking turns; release, fat LTO, one codegen unit. \
         Compare figures of one run only: the ratios hold, the nanoseconds are one machine's.\n"
    )?;
    writeln!(page, "![Speed in 16 KB reads](results.svg)\n")?;
    write_targets(page, results)?;
    write_summary(page, results)?;
    write_large(page, results)?;
    write_many(page, results)?;
    write_legend(page)?;
    write_cells(page, results)
}

fn write_targets(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(page, "## Targets\n")?;
    writeln!(page, "| what | target | stretch | measured | |")?;
    writeln!(page, "|---|--:|--:|--:|---|")?;
    for target in targets(results) {
        let sign = if target.is_at_least { "≥" } else { "≤" };
        let signed =
            |bound: Option<f64>| bound.map_or_else(String::new, |bound| format!("{sign} {bound}"));
        writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            target.what,
            signed(target.bound),
            signed(target.stretch),
            optional(target.measured, 2),
            target.verdict()
        )?;
    }
    writeln!(page)
}

fn write_summary(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(
        page,
        "## In 16 KB reads: ns per payload, and how many times as fast chatwire is\n"
    )?;
    write_rows(page, results)?;
    writeln!(page)
}

fn write_rows(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(
        page,
        "| stream | chatwire | best glued | | usual | against glued | against usual |"
    )?;
    writeln!(page, "|---|--:|--:|---|--:|--:|--:|")?;
    for stream in results.streams() {
        let ours = results
            .cell(stream, "16k", "chatwire")
            .and_then(Cell::best_ns);
        let usual = results.cell(stream, "16k", "usual");
        let usual_ns = usual.and_then(Cell::best_ns);
        let glued = results.yardstick(stream, "16k");
        writeln!(
            page,
            "| {stream} | {} | {} | {} | {}{} | {} | {} |",
            optional(ours, 0),
            optional(glued.and_then(Cell::best_ns), 0),
            glued.map_or("", |cell| cell.pipeline),
            optional(usual_ns, 0),
            if usual.is_some_and(|cell| !cell.is_right) {
                " (wrong)"
            } else {
                ""
            },
            optional(results.our_speed(stream, "16k"), 2),
            optional(ours.and_then(|ours| Some(usual_ns? / ours)), 2),
        )?;
    }
    Ok(())
}

fn write_large(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(
        page,
        "## 64 MB of content in one feed, and in 16 KB reads\n"
    )?;
    writeln!(
        page,
        "| pipeline | cut | ns per payload | peak heap, KB | |"
    )?;
    writeln!(page, "|---|---|--:|--:|---|")?;
    for row in &results.large {
        writeln!(
            page,
            "| {} | {} | {:.1} | {:.0} | {} |",
            row.pipeline,
            row.cut,
            row.best_ns,
            row.peak_bytes as f64 / 1e3,
            verdict(row.is_right)
        )?;
    }
    writeln!(page)
}

fn write_many(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(
        page,
        "## {PARSERS} streams at once, round robin, one event a read\n"
    )?;
    writeln!(
        page,
        "Bytes are for each stream, beside its text: the most at any time, and between two reads at the end.\n"
    )?;
    writeln!(
        page,
        "| pipeline | ns per event | bytes, most | bytes, held | |"
    )?;
    writeln!(page, "|---|--:|--:|--:|---|")?;
    for row in &results.many {
        writeln!(
            page,
            "| {} | {:.1} | {:.0} | {:.0} | {} |",
            row.pipeline,
            row.best_ns,
            row.peak_bytes,
            row.held_bytes,
            verdict(row.is_right)
        )?;
    }
    writeln!(page)
}

fn write_legend(page: &mut String) -> Result<(), Error> {
    writeln!(page, "## All of it\n")?;
    for pipeline in ALL {
        writeln!(page, "- {}: {}", pipeline.name, pipeline.what)?;
    }
    writeln!(
        page,
        "\nThe yardstick (bold) is the best right one of sse-core, sse-stream and sse-parse; speed is against it, higher is \
         better. A wrong answer is marked: the types of async-openai and the accumulator of stream-rs have no reasoning. \
         All but chatwire, usual and serde-owned throw log probabilities away. A run of more than {} s is not timed.\n",
        TOO_SLOW.as_secs()
    )
}

fn write_cells(page: &mut String, results: &Results) -> Result<(), Error> {
    writeln!(
        page,
        "| stream | cut | pipeline | ns per payload, best | median | MB/s | allocations per payload | peak heap, KB | speed | |"
    )?;
    writeln!(page, "|---|---|---|--:|--:|--:|--:|--:|--:|---|")?;
    for cell in &results.cells {
        let Cell {
            stream,
            cut,
            pipeline,
            ..
        } = cell;
        let bold = if cell.is_yardstick { "**" } else { "" };
        write!(page, "| {stream} | {cut} | {bold}{pipeline}{bold} | ")?;
        let Some(time) = cell.time else {
            writeln!(page, "| | | | | | over {} s |", TOO_SLOW.as_secs())?;
            continue;
        };
        writeln!(
            page,
            "{:.1} | {:.1} | {:.0} | {:.2} | {:.0} | {} | {} |",
            time.best_ns,
            time.median_ns,
            time.megabytes_per_second,
            cell.allocations,
            cell.peak_bytes as f64 / 1e3,
            if cell.kind == Kind::Floor {
                String::new()
            } else {
                optional(results.speed(cell), 2)
            },
            verdict(cell.is_right)
        )?;
    }
    Ok(())
}

fn verdict(is_right: bool) -> &'static str {
    if is_right { "" } else { "**wrong answer**" }
}

fn optional(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(String::new, |number| format!("{number:.digits$}"))
}
