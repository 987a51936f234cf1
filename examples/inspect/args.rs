//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use lexopt::Error;
use lexopt::prelude::*;

const HELP: &str = "\
Shows what is in a Chat Completions stream.

Usage: inspect [OPTIONS] FILE        FILE may be - for standard input

Without an option of this group: a timeline for people.
  --summary    one JSON object: the answer, its tool calls, errors, deviations
  --events     one JSON line per event or error
  --frames     one JSON line per frame of the event stream

  --chunk N    feed at most N bytes at a time; 0 is all at once (default 16384)
  --times      arrival times in the timeline (the default on a terminal, with -)
  --help       this text
  --version    the version

In the timeline a number is the byte where the frame starts, #1 is choice 1,
+ is a piece of a tool call's arguments, ==> is a tool call that is complete.

Exit status: 0 whole, 1 cut off, 2 an error of the server or no event stream,
64 wrong usage or a file that cannot be read, 74 the output cannot be written.
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Timeline,
    Summary,
    Events,
    Frames,
}

impl Command {
    pub(crate) fn from_env() -> Result<Self, Error> {
        let mut parser = lexopt::Parser::from_env();
        let (mut file, mut output, mut times) = (None, Output::Timeline, false);
        let mut feed = NonZeroUsize::new(16384);
        while let Some(arg) = parser.next()? {
            let chosen = match arg {
                Long("summary") => Output::Summary,
                Long("events") => Output::Events,
                Long("frames") => Output::Frames,
                Long("chunk") => {
                    feed = NonZeroUsize::new(parser.value()?.parse()?);
                    continue;
                }
                Long("times") => {
                    times = true;
                    continue;
                }
                Long("help") | Short('h') => return Ok(Self::Print(HELP)),
                Long("version") | Short('V') => return Ok(Self::Print(VERSION)),
                Value(name) if file.is_none() => {
                    file = Some(name);
                    continue;
                }
                _ => return Err(arg.unexpected()),
            };
            if output != Output::Timeline && output != chosen {
                return Err("only one of --summary, --events and --frames".into());
            }
            output = chosen;
        }
        let file =
            file.ok_or("FILE is missing: a file, or - for standard input (--help tells more)")?;
        Ok(Self::Inspect(Args {
            file,
            output,
            feed,
            times,
        }))
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
