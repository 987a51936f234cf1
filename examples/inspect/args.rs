//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use chatwire::DeviationSet;
use lexopt::Error;
use lexopt::prelude::*;

use crate::profile::{codes, profile};

const HELP: &str = "\
Shows what is in a Chat Completions stream.

Usage: inspect [OPTIONS] FILE        FILE may be - for standard input

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
  --times      arrival times in the timeline (the default on a terminal, with -)
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
    pub(crate) output: Output,
    /// How many bytes to feed at a time; none is all at once.
    pub(crate) feed: Option<NonZeroUsize>,
    pub(crate) times: bool,
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
        let mut feed = NonZeroUsize::new(16384);
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
                Long("chunk") => feed = NonZeroUsize::new(parser.value()?.parse()?),
                Long("times") => times = true,
                Long("help") | Short('h') => return Ok(Self::Print(HELP)),
                Long("version") | Short('V') => return Ok(Self::Print(VERSION)),
                Value(name) if file.is_none() => file = Some(name),
                _ => return Err(arg.unexpected()),
            }
        }
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
            output,
            feed,
            times,
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
        self.file == "-"
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
