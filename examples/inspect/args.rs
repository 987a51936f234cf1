//! The command line.

use std::ffi::OsString;

use chatwire::DeviationSet;
use lexopt::Error;
use lexopt::prelude::*;

use crate::colour::Colour;
use crate::feeds::Feeds;
use crate::profile::{codes, profile};

const HELP: &str = "\
Shows what is in a Chat Completions stream.

Usage: inspect [OPTIONS] FILE        FILE may be - for standard input
       inspect [OPTIONS] --replay FILE

Without an option of this group: a timeline for people.
  --summary    one JSON object: the answer, its tool calls, errors, deviations
  --events     one JSON line per event or error
  --frames     one JSON line per frame of the event stream
  --lint       one line per deviation from OpenAI's streams: where it was met
               first, its code, how often; nothing else

  --format F   of the lines of --lint: text (default) or json
  --profile P  which deviations --lint and --deny are about: openai (default) is
               all of them, compat those that are known to break clients
  --deny CODE[,CODE]
               deviations that make the exit status 3; all is every one of the
               profile, and one that is not of the profile never counts
  --chunk N    feed at most N bytes at a time; 0 is all at once (default 16384)
  --cut random:SEED
               feed pieces of random sizes instead
  --record R   write what comes to the file R as well, with its times
  --replay R   read such a file as it was recorded
  --speed N    N times as fast (default 1); 0 is without waiting
  --times      arrival times in the timeline, the first of each choice, and the
               tokens per second if the server counts them (the default on a
               terminal with -, and with --replay)
  --color W    of the timeline: always, never or auto (default): on a terminal,
               unless NO_COLOR is set
  --help       this text
  --version    the version

In the timeline a number is the byte where the frame starts, #1 is choice 1,
+ is a piece of a tool call's arguments, ==> is a tool call that is complete.

Exit status: 2 an error of the server or no event stream, else 1 cut off, else
3 a denied deviation, else 0; 64 wrong usage or a file that cannot be read, 74
the output cannot be written. --frames without --deny does not look inside.
";

const VERSION: &str = concat!("inspect (chatwire ", env!("CARGO_PKG_VERSION"), ")\n");

/// What to do.
pub(crate) enum Command {
    /// Print this text.
    Print(&'static str),
    Inspect(Args),
}

/// How to inspect what.
pub(crate) struct Args {
    pub(crate) file: OsString,
    /// It is a recording, to be read so many times as fast as it was made.
    pub(crate) speed: Option<f64>,
    /// Where to record.
    pub(crate) record: Option<OsString>,
    pub(crate) output: Output,
    pub(crate) feeds: Feeds,
    pub(crate) times: bool,
    pub(crate) colour: Colour,
    /// Of the lines of `--lint`.
    pub(crate) format: Format,
    /// The deviations that `--lint` is about.
    pub(crate) profile: DeviationSet,
    /// Those of the profile that fail.
    pub(crate) denied: DeviationSet,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Timeline,
    Summary,
    Events,
    Frames,
    Lint,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

impl Command {
    pub(crate) fn from_env() -> Result<Self, Error> {
        let mut parser = lexopt::Parser::from_env();
        let (mut file, mut output, mut times) = (None, Output::Timeline, false);
        let (mut size, mut cut, mut colour) = (None, None, Colour::Auto);
        let (mut record, mut replay, mut speed) = (None, None, None);
        let (mut format, mut about) = (None, None);
        let mut denied = DeviationSet::new();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("summary") => choose(&mut output, Output::Summary)?,
                Long("events") => choose(&mut output, Output::Events)?,
                Long("frames") => choose(&mut output, Output::Frames)?,
                Long("lint") => choose(&mut output, Output::Lint)?,
                Long("format") => format = Some(parser.value()?.parse_with(Format::from_name)?),
                Long("profile") => about = Some(parser.value()?.parse_with(profile)?),
                Long("deny") => denied = denied.union(parser.value()?.parse_with(codes)?),
                Long("chunk") => size = Some(parser.value()?.parse()?),
                Long("cut") => cut = Some(parser.value()?.parse_with(Feeds::from_name)?),
                Long("record") => record = Some(parser.value()?),
                Long("replay") => replay = Some(parser.value()?),
                Long("speed") => speed = Some(parser.value()?.parse_with(speed_of)?),
                Long("color" | "colour") => {
                    colour = parser.value()?.parse_with(Colour::from_name)?;
                }
                Long("times") => times = true,
                Long("help") | Short('h') => return Ok(Self::Print(HELP)),
                Long("version") | Short('V') => return Ok(Self::Print(VERSION)),
                Value(name) if file.is_none() => file = Some(name),
                _ => return Err(arg.unexpected()),
            }
        }
        if size.is_some() && cut.is_some() {
            return Err("only one of --chunk and --cut".into());
        }
        if speed.is_some() && replay.is_none() {
            return Err("--speed goes with --replay".into());
        }
        let speed = replay.is_some().then(|| speed.unwrap_or(1.0));
        let file = match (file, replay) {
            (Some(_), Some(_)) => return Err("only one of FILE and --replay".into()),
            (file, replay) => file.or(replay),
        };
        let file =
            file.ok_or("FILE is missing: a file, or - for standard input (--help tells more)")?;
        let is_lint = output == Output::Lint;
        if format.is_some() && !is_lint {
            return Err("--format goes with --lint".into());
        }
        if about.is_some() && !is_lint && denied.is_empty() {
            return Err("--profile goes with --lint or --deny".into());
        }
        let profile = about.unwrap_or_else(DeviationSet::all);
        Ok(Self::Inspect(Args {
            file,
            speed,
            record,
            output,
            feeds: cut.unwrap_or_else(|| Feeds::of(size.unwrap_or(16384))),
            times,
            colour,
            format: format.unwrap_or(Format::Text),
            profile,
            denied: denied.intersection(profile),
        }))
    }
}

/// There is one output; to ask for it twice is no fault.
fn choose(output: &mut Output, chosen: Output) -> Result<(), &'static str> {
    if *output != Output::Timeline && *output != chosen {
        return Err("only one of --summary, --events, --frames and --lint");
    }
    *output = chosen;
    Ok(())
}

fn speed_of(text: &str) -> Result<f64, &'static str> {
    let speed = text.parse().ok().filter(|speed: &f64| *speed >= 0.0);
    speed.ok_or("the speed is a number, 0 or more")
}

impl Format {
    fn from_name(name: &str) -> Result<Self, &'static str> {
        match name {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("the formats are text and json"),
        }
    }
}

impl Args {
    pub(crate) fn is_standard_input(&self) -> bool {
        self.file == "-" && self.speed.is_none()
    }

    /// What messages call the input.
    pub(crate) fn name(&self) -> String {
        if self.is_standard_input() {
            "standard input".to_owned()
        } else {
            self.file.to_string_lossy().into_owned()
        }
    }
}
