//! Runs pipelines over one cut of one stream: once to check and to count, then round robin to time.

use std::time::{Duration, Instant};

use crate::allocations::{self, Allocations};
use crate::pipelines::{Kind, Pipeline};
use crate::session::Outcome;
use crate::streams::{Cut, Stream};

/// What a pipeline gave on one cut of one stream.
#[derive(Debug, Clone)]
pub struct Cell {
    pub stream: &'static str,
    pub cut: String,
    pub pipeline: &'static str,
    pub kind: Kind,
    /// Whether the answer is the stream's.
    pub is_right: bool,
    /// Whether it is the yardstick of its stream and cut: the best right one of the glued.
    pub is_yardstick: bool,
    /// None if one run took too long.
    pub time: Option<Time>,
    /// Per payload.
    pub allocations: f64,
    pub peak_bytes: usize,
}

/// Time per payload.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    pub best_ns: f64,
    pub median_ns: f64,
    pub megabytes_per_second: f64,
}

impl Cell {
    pub fn best_ns(&self) -> Option<f64> {
        self.time.map(|time| time.best_ns)
    }
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// How often to come back to a cell: a noisy minute must not meet all the runs of one.
    pub passes: usize,
    /// For one cut of one stream, all its pipelines, in one pass after its first round.
    pub pass: Duration,
}

/// A pipeline whose run takes longer is not timed.
pub const TOO_SLOW: Duration = Duration::from_secs(3);
/// A pipeline whose run takes more than this part of a pass runs once in it.
const SLOW_PART: u32 = 3;
const MOST_ROUNDS: usize = 200;

/// The pipelines over one cut of one stream.
pub struct Measuring<'a> {
    stream: &'a Stream,
    cut: Cut,
    budget: Budget,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    pipeline: &'a Pipeline,
    is_right: bool,
    is_too_slow: bool,
    counted: Allocations,
    took: Duration,
    runs: Vec<Duration>,
}

impl<'a> Measuring<'a> {
    /// Runs each pipeline once, to check its answer and to count.
    pub fn new(stream: &'a Stream, cut: Cut, pipelines: &[&'a Pipeline], budget: Budget) -> Self {
        let reads = stream.reads(cut);
        let check = |pipeline: &&'a Pipeline| {
            let began = Instant::now();
            let run = || (pipeline.run)(&reads, Some(began + TOO_SLOW));
            let (outcome, counted) = allocations::count(run);
            let took = began.elapsed();
            Entry {
                pipeline,
                is_too_slow: matches!(outcome, Outcome::TooSlow),
                is_right: match outcome {
                    Outcome::Answer(answer) => answer == stream.answer,
                    Outcome::Nothing => true,
                    Outcome::Failed | Outcome::TooSlow => false,
                },
                counted,
                took,
                runs: Vec::new(),
            }
        };
        Self {
            stream,
            cut,
            budget,
            entries: pipelines.iter().map(check).collect(),
        }
    }

    /// Times each once a round, so that a noisy moment meets all alike. Each round begins with another.
    pub fn pass(&mut self) {
        let reads = self.stream.reads(self.cut);
        let count = self.entries.len();
        // The first round is not in the budget: the slow ones, which run in it alone, would use it up.
        let mut began = None;
        for round in 0..MOST_ROUNDS {
            for turn in 0..count {
                let entry = &mut self.entries[(round + turn) % count];
                let is_slow = entry.took > self.budget.pass / SLOW_PART;
                if entry.is_too_slow || is_slow && round > 0 {
                    continue;
                }
                let began = Instant::now();
                let outcome = (entry.pipeline.run)(&reads, None);
                entry.runs.push(began.elapsed());
                drop(outcome);
            }
            let began = began.get_or_insert_with(Instant::now);
            if began.elapsed() > self.budget.pass {
                break;
            }
        }
    }

    pub fn cells(self) -> Vec<Cell> {
        let Self {
            stream,
            cut,
            entries,
            ..
        } = self;
        let cell = |entry: Entry<'_>| Cell {
            stream: stream.name,
            cut: cut.name(),
            pipeline: entry.pipeline.name,
            kind: entry.pipeline.kind,
            is_right: entry.is_right,
            is_yardstick: false,
            time: time(entry.runs, stream),
            allocations: entry.counted.count as f64 / stream.payloads() as f64,
            peak_bytes: entry.counted.peak_bytes,
        };
        let mut cells = entries.into_iter().map(cell).collect::<Vec<_>>();
        mark_yardstick(&mut cells);
        cells
    }
}

fn time(mut runs: Vec<Duration>, stream: &Stream) -> Option<Time> {
    runs.sort_unstable();
    let per_payload = |run: &Duration| run.as_secs_f64() * 1e9 / stream.payloads() as f64;
    let (best, median) = (runs.first()?, runs.get(runs.len() / 2)?);
    Some(Time {
        best_ns: per_payload(best),
        median_ns: per_payload(median),
        megabytes_per_second: stream.bytes.len() as f64 / 1e6 / best.as_secs_f64(),
    })
}

fn mark_yardstick(cells: &mut [Cell]) {
    let best = cells
        .iter_mut()
        .filter(|cell| cell.kind == Kind::Glued && cell.is_right && cell.time.is_some())
        .min_by(|one, another| {
            one.best_ns()
                .partial_cmp(&another.best_ns())
                .expect("no NaN")
        });
    if let Some(cell) = best {
        cell.is_yardstick = true;
    }
}
