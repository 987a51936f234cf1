//! Replays inputs on stable: `replay [TARGET [FILE or FOLDER]...]`.
//!
//! For each target: the seeds made from `fixtures/`, the committed regressions, and the files named. Without a target: all.
//! Exit status 1 if an input breaks its target; the others are replayed all the same.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chatwire_fuzz::{TARGETS, Target, seeds};

/// How many of the inputs break the target.
fn replay(target: &Target, what: &str, inputs: &[(PathBuf, Vec<u8>)]) -> usize {
    let is_broken = |(path, input): &&(PathBuf, Vec<u8>)| {
        let result = catch_unwind(|| (target.run)(input));
        if result.is_err() {
            eprintln!(
                "broken: {} by {}: {}",
                target.name,
                path.display(),
                input.escape_ascii()
            );
        }
        result.is_err()
    };
    let broken = inputs.iter().filter(is_broken).count();
    println!(
        "replayed {} {what} of {}, {broken} broken",
        inputs.len(),
        target.name
    );
    broken
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, paths) = match arguments.split_first() {
        Some((name, paths)) => (Some(name), paths),
        None => (None, &[][..]),
    };
    let targets: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| name.is_none_or(|name| name == target.name))
        .collect();
    if targets.is_empty() {
        eprintln!(
            "no such target; there are {:?}",
            TARGETS.map(|target| target.name)
        );
        return ExitCode::from(64);
    }
    let mut broken = 0;
    for target in targets {
        let made = (target.seeds)().into_iter().enumerate();
        let made: Vec<_> = made
            .map(|(nth, seed)| (PathBuf::from(format!("seed {nth}")), seed))
            .collect();
        assert!(!made.is_empty(), "the fixtures are there");
        broken += replay(target, "seeds", &made);
        broken += replay(target, "regressions", &seeds::regressions(target.name));
        for path in paths.iter().map(Path::new) {
            let inputs = match std::fs::read(path) {
                Ok(input) => vec![(path.to_path_buf(), input)],
                Err(_) => seeds::files(path),
            };
            broken += replay(target, &format!("inputs in {}", path.display()), &inputs);
        }
    }
    ExitCode::from(u8::from(broken > 0))
}
