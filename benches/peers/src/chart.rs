//! The results as a picture: speed in 16 KB reads, against the best glued pipeline.

use std::fmt::{Error, Write};

use crate::results::Results;
use crate::table::COMMAND;

const CUT: &str = "16k";
const LEFT: f64 = 90.0;
const PLOT: f64 = 480.0;
const WIDTH: f64 = 720.0;
const TOP: f64 = 64.0;
const BAR: f64 = 14.0;
const GROUP: f64 = 3.0 * BAR + 16.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-size:15px;font-weight:600}\
.s{fill:#57606a}.a{fill:#0969da}.b{fill:#8c959f}.c{fill:#d0a215}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.a{fill:#4493f8}.b{fill:#6e7681}}";

pub fn svg(results: &Results, date: &str) -> String {
    let mut svg = String::new();
    write_svg(&mut svg, results, date).expect("a String takes all");
    svg
}

/// A bar: how it is drawn, what it is called, its speed, its time.
struct Bar {
    class: &'static str,
    name: &'static str,
    speed: Option<f64>,
    ns: Option<f64>,
    is_right: bool,
}

fn bars(results: &Results, stream: &str) -> [Bar; 3] {
    let bar = |class, name, cell: Option<&crate::measure::Cell>| Bar {
        class,
        name,
        speed: cell.and_then(|cell| results.speed(cell)),
        ns: cell.and_then(|cell| cell.best_ns()),
        is_right: cell.is_some_and(|cell| cell.is_right),
    };
    [
        bar("a", "chatwire", results.cell(stream, CUT, "chatwire")),
        bar("b", "glued", results.yardstick(stream, CUT)),
        bar("c", "usual", results.cell(stream, CUT, "usual")),
    ]
}

fn write_svg(svg: &mut String, results: &Results, date: &str) -> Result<(), Error> {
    let streams = results.streams();
    let all = streams.iter().flat_map(|stream| bars(results, stream));
    let fastest = all.filter_map(|bar| bar.speed).fold(1.0, f64::max);
    let scale = PLOT / fastest;
    let height = TOP + GROUP * streams.len() as f64 + 28.0;
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">"#
    )?;
    writeln!(svg, "<style>{STYLE}</style>")?;
    writeln!(
        svg,
        r#"<text class="t" x="10" y="22">Speed in 16 KB reads, the best glued pipeline = 1 (longer is better)</text>"#
    )?;
    write_legend(svg)?;
    for (nth, stream) in streams.iter().enumerate() {
        let top = TOP + GROUP * nth as f64;
        let middle = top + 1.5 * BAR + 4.0;
        writeln!(svg, r#"<text x="10" y="{middle}">{stream}</text>"#)?;
        for (row, bar) in bars(results, stream).iter().enumerate() {
            write_bar(svg, bar, top + BAR * row as f64, scale)?;
        }
    }
    writeln!(
        svg,
        r#"<text class="s" x="10" y="{}">{date} · {COMMAND}</text>"#,
        height - 10.0
    )?;
    writeln!(svg, "</svg>")
}

fn write_legend(svg: &mut String) -> Result<(), Error> {
    let entries = [
        ("a", "chatwire", 10.0),
        ("b", "glued: best SSE crate + serde_json borrowed", 100.0),
        ("c", "usual: eventsource-stream + async-openai", 410.0),
    ];
    for (class, text, left) in entries {
        writeln!(
            svg,
            r#"<rect class="{class}" x="{left}" y="35" width="10" height="10"/>"#
        )?;
        writeln!(
            svg,
            r#"<text class="s" x="{}" y="44">{text}</text>"#,
            left + 14.0
        )?;
    }
    Ok(())
}

fn write_bar(svg: &mut String, bar: &Bar, top: f64, scale: f64) -> Result<(), Error> {
    let (Some(speed), Some(ns)) = (bar.speed, bar.ns) else {
        return Ok(());
    };
    let (width, height) = (speed * scale, BAR - 2.0);
    let wrong = if bar.is_right { "" } else { ", wrong answer" };
    writeln!(
        svg,
        r#"<rect class="{}" x="{LEFT}" y="{top}" width="{width:.1}" height="{height}"><title>{}</title></rect>"#,
        bar.class, bar.name
    )?;
    writeln!(
        svg,
        r#"<text class="s" x="{:.1}" y="{}">{speed:.1}× · {}{wrong}</text>"#,
        LEFT + width + 5.0,
        top + BAR - 4.0,
        time(ns)
    )
}

fn time(ns: f64) -> String {
    if ns < 10_000.0 {
        format!("{ns:.0} ns")
    } else {
        format!("{:.0} µs", ns / 1e3)
    }
}
