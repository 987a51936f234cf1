//! The example `inspect`, run as a program: what it prints, and its exit status.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod common;

#[path = "../examples/inspect/colour.rs"]
#[allow(dead_code, reason = "the program needs all of it")]
mod colour;
#[path = "../examples/inspect/feeds.rs"]
#[allow(dead_code, reason = "the program needs all of it")]
mod feeds;

use std::collections::BTreeSet;
use std::env::{consts::EXE_SUFFIX, current_exe};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chatwire::{Deviation, Event, Met};
use colour::Colour;
use common::{cases, fixtures, read, streams};
use feeds::Feeds;
use serde_json::{Value, from_str, json, to_string};

const OUTPUTS: &str = ";--summary;--events;--frames;--lint;--lint --format json";

/// Starts it with these options; one that ends in `.sse` is a fixture.
fn start(options: &str) -> Child {
    let test = current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap();
    let program = program.join(format!("examples/inspect{EXE_SUFFIX}"));
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let mut sources = fs::read_dir("examples/inspect").unwrap();
    assert!(
        sources.all(|source| changed(&program) >= changed(&source.unwrap().path())),
        "{} is missing or old: plain `cargo test` builds it, or `cargo build --example inspect`",
        program.display()
    );
    let argument = |option: &str| match option.ends_with(".sse") {
        true => fixtures().join(option),
        false => option.into(),
    };
    let mut command = Command::new(program);
    command.args(options.split_whitespace().map(argument));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
        .stderr(Stdio::piped())
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.spawn().unwrap()
}

/// Gives the exit status, and what was written to standard output and to standard error.
fn finish(mut child: Child, input: &[u8]) -> (i32, String, String) {
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // It fails where the input is not read to its end.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let status = output.status.code().unwrap_or_else(|| panic!("{err}"));
    (status, out, err)
}

fn run(options: &str, input: impl AsRef<[u8]>) -> (i32, String, String) {
    finish(start(options), input.as_ref())
}

#[test]
fn the_summary_of_each_whole_stream_is_what_the_fixtures_expect() {
    let cases = cases(&fixtures().join("streams_expected.jsonl"));
    assert!(cases.len() >= 15);
    for case in cases {
        let (_, out, _) = run(&format!("--summary {}", case.id), "");
        let mut got: Value = from_str(&out).unwrap();
        (got["content"], got["finish"]) = (json!({}), json!({}));
        for choice in got["completion"]["choices"].take().as_array().unwrap() {
            let index = choice["index"].to_string();
            let (content, finish) = (&choice["message"]["content"], &choice["finish_reason"]);
            for (key, value) in [("content", content), ("finish", finish)] {
                if !value.is_null() && *value != "" {
                    got[key][&index] = value.clone();
                }
            }
        }
        for key in ["content", "finish", "chunks", "done_marker", "ending"] {
            assert_eq!(got[key], case.expect[key], "{key} of {}", case.id);
        }
    }
}

#[test]
fn every_output_is_the_same_in_feeds_of_any_size() {
    let files = ["streams_expected.jsonl", "deviations.jsonl"];
    let cases = files.map(|file| cases(&fixtures().join(file)));
    let inputs = cases.into_iter().flatten().map(|case| case.input);
    let more_behind_the_end = b"data: {\"choices\":[]}\n\n[DONE]\n\ndata: {}\n\n".to_vec();
    for input in inputs.chain([more_behind_the_end]) {
        for output in OUTPUTS.split(';') {
            let run = |cut| run(&format!("{output} --deny all {cut} -"), &input);
            let whole = run("--chunk 0");
            for cut in ["--chunk 1", "--chunk 7", "--cut random:5"] {
                assert_eq!(run(cut), whole, "{output} {cut}");
            }
        }
    }
}

#[test]
fn random_cuts_are_of_many_sizes_and_the_same_for_a_seed() {
    let bytes: Vec<_> = (0..=255).cycle().take(10_000).collect();
    let cut = |seed: &str| {
        let mut feeds = Feeds::from_name(seed).unwrap_or_else(|error| panic!("{error}"));
        let (mut rest, mut cut) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            cut.push(feeds.take(&mut rest));
        }
        assert_eq!(cut.concat(), bytes);
        cut.iter().map(|feed| feed.len()).collect::<Vec<_>>()
    };
    let sizes = cut("random:1");
    assert_eq!(sizes, cut("random:1"));
    assert_ne!(sizes, cut("random:2"));
    let all = BTreeSet::from_iter(sizes);
    assert!(
        all.len() > 50 && all.first() == Some(&1) && all.last() == Some(&64),
        "{all:?}"
    );
}

#[test]
fn the_exit_status_tells_the_worst_that_came() {
    let html = "<!doctype html>\n<title>502 Bad Gateway</title>\n";
    // Breaks no client that is known.
    let stray = fs::read_to_string(fixtures().join("answer.sse")).unwrap();
    let stray = &format!("?\n\n{stray}");
    for output in OUTPUTS.split(';') {
        // Frames are looked into only if something is denied, and then only for that.
        let or = |status, of_frames| [status, of_frames][usize::from(output == "--frames")];
        for (expected, options, input) in [
            (0, "--deny all answer.sse", ""),
            (0, "comments.sse", ""),
            (0, "--deny bare_done,done_missing comments.sse", ""),
            (3, "--deny role_repeated,bare_done comments.sse", ""),
            (3, "--deny role_repeated --deny bare_done comments.sse", ""),
            (3, "--deny all -", stray),
            (3, "--deny stray_line --profile openai -", stray),
            (0, "--deny stray_line --profile compat -", stray),
            (0, "--deny all --profile compat -", stray),
            (or(1, 0), "cut.sse", ""),
            (or(1, 0), "-", ""),
            (or(2, 0), "error_mid_stream.sse", ""),
            (or(2, 0), "-", html),
            (or(1, 3), "--deny all cut.sse", ""),
            (or(2, 3), "--deny all error_mid_stream.sse", ""),
        ] {
            let (status, _, err) = run(&format!("{output} {options}"), input);
            assert_eq!((status, err.as_str()), (expected, ""), "{output} {options}");
        }
    }
}

#[test]
fn wrong_usage_is_one_line_and_status_64() {
    for (options, named) in [
        ("--no-such answer.sse", "--no-such"),
        ("--deny bare_done,no_such answer.sse", "\"no_such\""),
        ("--deny \u{1b}\u{202e} answer.sse", "\\u{1b}\\u{202e}"),
        ("--lint --profile no_such answer.sse", "no_such"),
        ("--profile compat answer.sse", "--profile"),
        ("--lint --format no_such answer.sse", "no_such"),
        ("--format json answer.sse", "--format"),
        ("--lint --summary answer.sse", "only one of"),
        ("--chunk 1 --cut random:1 answer.sse", "only one of"),
        ("--cut 7 answer.sse", "random:SEED"),
        ("--speed 2 answer.sse", "--replay"),
        ("--speed -1 --replay answer.sse", "speed"),
        ("--replay answer.sse answer.sse", "only one of"),
        ("--replay answer.sse", "no recording"),
        ("--record no_such/file answer.sse", "--record"),
        ("--color red answer.sse", "always"),
        ("no_such\u{9b}.sse", "no_such\\u{9b}.sse"),
        ("", "FILE"),
    ] {
        let (status, out, err) = run(options, "");
        assert_eq!((status, out.as_str()), (64, ""), "{options}");
        assert!(err.contains(named) && err.ends_with('\n'), "{err}");
        assert!(!err.trim_end().contains(char::is_control), "{err:?}");
    }
}

#[test]
fn each_line_of_events_is_an_event_and_serialises_back_to_itself() {
    for case in streams() {
        let items = read([&case.input[..]]).items;
        let (_, out, _) = run("--events -", &case.input);
        assert_eq!(out.lines().count(), items.len(), "{}", case.id);
        for (line, item) in out.lines().zip(items) {
            let is_error = line.starts_with("{\"error\":{");
            assert_eq!(is_error, item.is_err(), "{line}");
            if let Ok(event) = item {
                assert_eq!(line, to_string(&event).unwrap());
                let event: Event<'static> = from_str(line).unwrap();
                assert_eq!(line, to_string(&event).unwrap());
            }
        }
    }
}

#[test]
fn the_linter_has_nothing_to_say_of_what_openai_sends() {
    let plain = "answer tool_calls two_choices usage_last refusal logprobs audio custom_tool";
    for file in plain.split(' ') {
        let ran = run(&format!("--lint --profile openai {file}.sse"), "");
        assert_eq!(ran, (0, String::new(), String::new()), "{file}");
    }
}

#[test]
fn the_linter_prints_exactly_the_codes_of_each_deviant_stream() {
    let path = fixtures().join("deviations.jsonl");
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/deviant");
    let text = fs::read_to_string(&path).unwrap();
    for (case, row) in cases(&path).into_iter().zip(text.lines()) {
        let row: Value = from_str(row).unwrap();
        let codes = row["deviations"].as_array().unwrap().iter();
        let listed = codes.map(|code| Deviation::from_code(code.as_str().unwrap()).unwrap());
        let deviations = read([&case.input[..]]).deviations;
        assert_eq!(deviations.set(), listed.collect());
        fs::write(file, &case.input).unwrap();
        let (_, timeline, _) = run("deviant", "");
        for met in deviations.iter() {
            let row = format!("{:>8}  deviation     {}\n", met.offset, met.code);
            assert!(timeline.contains(&row), "{row}{timeline}");
        }
        for profile in ["openai", "compat"] {
            let mut met: Vec<_> = deviations.iter().collect();
            met.retain(|met| profile == "openai" || met.code.breaks() != "none known");
            met.sort_by_key(|met| met.offset);
            let line = |met: Met| {
                let (code, count, offset) = (met.code.as_str(), met.count, met.offset);
                let (what, breaks) = (met.code.description(), met.code.breaks());
                let clause = what.strip_suffix('.').unwrap();
                let text = format!("{offset}  {code}  x{count}  {clause}; breaks: {breaks}\n");
                let json = json!({"code": code, "count": count, "offset": offset, "description": what,
                    "sent_by": met.code.sent_by(), "breaks": breaks});
                (text, json)
            };
            let (text, json): (String, Vec<_>) = met.into_iter().map(line).unzip();
            let lint = format!("--lint --profile {profile} deviant --format");
            assert_eq!(run(&format!("{lint} text"), "").1, text);
            let (_, out, _) = run(&format!("{lint} json"), "");
            let lines: Vec<Value> = out.lines().map(|line| from_str(line).unwrap()).collect();
            assert_eq!(lines, json);
        }
    }
}

#[test]
fn the_timeline_gives_the_terminal_no_command() {
    // Escape, bell and others of C0, C1, and all that turns the direction of writing.
    let bad = "\u{1b}\u{7}\r\u{8}\u{7f}\u{9b}\u{85}\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\
        \u{202e}\u{2028}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}";
    let delta = json!({"role": bad, "content": bad, "reasoning_content": bad, "refusal": bad, "tool_calls": [
        {"index": 0, "id": format!("1{bad}"), "function": {"name": bad, "arguments": json!({bad: bad}).to_string()}},
        {"index": 1, "id": format!("2{bad}"), "type": "custom", "custom": {"name": bad, "input": bad}}],
        "function_call": {"name": bad, "arguments": bad}, "audio": {"id": bad, "transcript": bad},
        "annotations": [{"type": bad, bad: {"url": bad}}], bad: bad});
    let choices = [json!({"index": 0, "delta": delta, "finish_reason": bad, bad: bad})];
    let chunk =
        json!({"id": bad, "model": bad, "moderation": {bad: bad}, "choices": choices, bad: bad});
    let error = json!({"error": {"message": bad, "code": bad, "type": bad}});
    let input = format!("event: {bad}\ndata: {chunk}\n\ndata: {error}\n\n{bad}\n\ndata: {bad}\n\n");
    let (_, out, _) = run("-", input);
    let is_harmful = |c: char| c != '\n' && (c.is_control() || bad.contains(c));
    assert!(!out.contains(is_harmful), "{out:?}");
    let shown = out.matches("\\u{202e}").count();
    assert_eq!(shown, 34, "all of it is shown: {out}");
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    let input = fs::read(fixtures().join("comments.sse")).unwrap();
    for output in OUTPUTS.split(';') {
        let mut child = start(&format!("{output} -"));
        drop(child.stdout.take());
        let (status, _, err) = finish(child, &input);
        assert_eq!((status, err.as_str()), (0, ""), "{output}");
    }
}

/// What the lines of a recording are: when, and what.
fn recording(lines: &[(u64, Value)]) -> String {
    let line = |(us, chunk): &(u64, Value)| match chunk {
        Value::Object(_) => json!({"us": us, "text": format!("data: {chunk}\n\n")}).to_string(),
        text => json!({"us": us, "text": text}).to_string(),
    };
    lines.iter().map(|given| line(given) + "\n").collect()
}

#[test]
fn a_recording_is_replayed_with_its_times_at_any_speed_and_cut() {
    let chunk = |delta: Value| json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    let finish = json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"object": "chat.completion.chunk", "choices": [], "usage": {"completion_tokens": 44,
        "completion_tokens_details": {"reasoning_tokens": 3}}});
    let hour = 3_600_000_000;
    let lines = [
        (400_000, chunk(json!({"role": "assistant", "content": ""}))),
        (512_345, chunk(json!({"content": "Hi"}))),
        (
            600_000,
            chunk(
                json!({"tool_calls": [{"index": 0, "id": "a", "type": "function",
            "function": {"name": "f", "arguments": "{}"}}]}),
            ),
        ),
        (2_512_345, chunk(json!({"content": " there"}))),
        (3_000_000, finish),
        (hour, usage),
        (hour + 1000, json!("data: [DONE]\n\n")),
    ];
    fs::write(
        concat!(env!("CARGO_TARGET_TMPDIR"), "/timed"),
        recording(&lines),
    )
    .unwrap();
    let expected = r#"   seconds      byte
     0.400         0  role          assistant
     0.512       108  first         text after 0.512 s
     0.512       108  text          "Hi"
     0.600       199  first         tool call after 0.600 s
     0.600       199  tool 0        "f" +{}  id a
     2.512       370  text          " there"
     3.000       465  finish        stop
  3600.000       565  usage         completion 44, reasoning 3
  3600.001       704  call 0        ==> "f" {}  id a
  3600.001       704  end           done: [DONE] came

finished choices    0 (stop)
unfinished choices  none
finished calls      0 f
incomplete calls    none
usage               completion 44, reasoning 3
deviations          none
totals              718 bytes, 6 chunks, 8 characters of content
first token         after 0.512 s
speed               20.0 tokens per second (40 in 2.000 s after the first)
"#;
    for options in [
        "--speed 0",
        "--speed 1e9",
        "--speed 0 --cut random:3",
        "--speed 0 --chunk 1",
    ] {
        let (status, out, err) = run(&format!("{options} --replay timed"), "");
        assert_eq!((status, err.as_str()), (0, ""), "{options}");
        assert_eq!(out, expected, "{options}");
    }
}

#[test]
fn a_replay_waits_as_long_as_the_recording_took() {
    let lines = [(200_000, json!("data: [DONE]\n\n"))];
    fs::write(
        concat!(env!("CARGO_TARGET_TMPDIR"), "/waiting"),
        recording(&lines),
    )
    .unwrap();
    for (speed, least) in [("1", 200), ("2", 100)] {
        let start = Instant::now();
        run(&format!("--speed {speed} --replay waiting"), "");
        assert!(start.elapsed() >= Duration::from_millis(least), "{speed}");
    }
}

#[test]
fn what_was_recorded_is_replayed_in_every_output() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    for case in streams() {
        let plain = run("--record recorded --chunk 7 --events -", &case.input);
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| from_str::<Value>(line).unwrap());
        let (mut bytes, mut times) = (Vec::new(), Vec::new());
        for line in lines {
            times.push(line["us"].as_u64().unwrap());
            match (line["text"].as_str(), line["base64"].as_str()) {
                (Some(text), _) => bytes.extend_from_slice(text.as_bytes()),
                (_, Some(text)) => bytes.extend(STANDARD.decode(text).unwrap()),
                _ => assert_eq!(line["end"], "clean"),
            }
        }
        assert!(
            case.input.starts_with(&bytes) && times.is_sorted(),
            "{}",
            case.id
        );
        assert_eq!(
            run("--speed 0 --cut random:9 --events --replay recorded", ""),
            plain
        );
    }
    let bytes =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"},\"finish_reason\":\"stop\"}]}";
    for output in OUTPUTS.split(';') {
        let plain = run(&format!("{output} --times --record recorded -"), bytes);
        assert!(fs::read_to_string(&file).unwrap().contains("\"base64\""));
        let replayed = run(&format!("{output} --replay recorded"), "");
        assert_eq!(replayed, plain, "{output}");
    }
}

#[test]
fn a_recording_that_broke_off_is_truncated_again() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/broken");
    let bytes = json!("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    let bytes = recording(&[(1, bytes)]);
    for (end, status, said) in [
        ("{\"us\":2,\"end\":\"clean\"}", 0, ""),
        (
            "{\"us\":2,\"end\":\"broken\"}",
            1,
            "the input broke when it was recorded",
        ),
        ("", 1, "no end"),
        ("{\"us\":2}", 1, "no recording"),
    ] {
        fs::write(file, format!("{bytes}{end}")).unwrap();
        let got = run("--replay broken", "");
        assert_eq!(got.0, status, "{end}");
        assert!(
            got.2.contains(said) && got.2.is_empty() == said.is_empty(),
            "{end}: {}",
            got.2
        );
        // What is recorded again is the same.
        run("--replay broken --record broken.again", "");
        if !said.contains("no") {
            let again = fs::read_to_string(format!("{file}.again")).unwrap();
            assert!(again.ends_with(&format!("\n{end}\n")), "{again}");
        }
    }
}

#[test]
fn each_row_is_there_when_its_bytes_are() {
    let mut child = start("--times -");
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    let reading = thread::spawn(move || {
        let lines = BufReader::new(stdout).lines();
        lines.for_each(|line| sender.send(line.unwrap()).unwrap());
    });
    let line = || receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    let chunk = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    stdin.write_all(chunk.as_bytes()).unwrap();
    assert!(line().contains("seconds"));
    assert!(line().contains("first         text after "));
    assert!(line().ends_with("text          \"a\""));
    stdin
        .write_all(chunk.replace("\"a\"", "\"b\"").as_bytes())
        .unwrap();
    assert!(line().ends_with("text          \"b\""));
    drop(stdin);
    assert!(line().contains("TRUNCATED"));
    reading.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn there_are_colours_only_where_they_are_wanted() {
    for (colour, is_terminal, no_color, term, expected) in [
        (Colour::Auto, true, None, Some("xterm"), true),
        (Colour::Auto, true, None, None, true),
        (Colour::Auto, true, Some(""), None, true),
        (Colour::Auto, true, Some("1"), None, false),
        (Colour::Auto, true, None, Some("dumb"), false),
        (Colour::Auto, false, None, Some("xterm"), false),
        (Colour::Always, false, Some("1"), Some("dumb"), true),
        (Colour::Never, true, None, None, false),
    ] {
        let wanted = colour.is_wanted(is_terminal, no_color.map(OsStr::new), term.map(OsStr::new));
        assert_eq!(wanted, expected, "{is_terminal} {no_color:?} {term:?}");
    }
    for file in ["tool_calls.sse", "error_mid_stream.sse", "reasoning.sse"] {
        let (_, plain, _) = run(file, "");
        assert!(!plain.contains('\u{1b}'));
        let (_, coloured, _) = run(&format!("--color always {file}"), "");
        let mut stripped = coloured.replace("\u{1b}[0m", "");
        for style in ["1;31", "33", "1;32", "36", "2"] {
            stripped = stripped.replace(&format!("\u{1b}[{style}m"), "");
        }
        assert!(
            coloured.len() > plain.len() && stripped == plain,
            "{coloured}"
        );
    }
}
