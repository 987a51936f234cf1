//! Each example over real HTTP on loopback: cut at random, from a server that dies, that sends an error after 200, that
//! sends plain JSON.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]
#![allow(dead_code, reason = "the examples are programs too")]
#![allow(clippy::duplicate_mod, reason = "each example has the server")]

mod common;

#[path = "../examples/channel.rs"]
mod by_channel;
#[path = "../examples/hyper.rs"]
mod by_hyper;
#[path = "../examples/reqwest.rs"]
mod by_reqwest;
#[path = "../examples/tcp.rs"]
mod by_tcp;
#[path = "../examples/tee.rs"]
mod by_tee;
#[path = "../examples/ureq.rs"]
mod by_ureq;
#[path = "../examples/server/mod.rs"]
mod server;

use std::env;
use std::fs;
use std::io::Read;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use chatwire::{ChatCompletion, ErrorKind, Event, Parser, Usage};
use common::fixtures;
use serde_json::json;
use server::{Random, Reply, serve};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Runs a test in a process that knows no proxy, as a client would ask it for loopback addresses too.
fn without_proxy(test: &str, run: impl FnOnce()) {
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    if proxies.iter().all(|name| env::var_os(name).is_none()) {
        return run();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test]);
    for name in proxies {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

/// What an example writes, without the words of its transport, and the answer it gives.
type Shown = (String, ChatCompletion);

type Example = fn(&str) -> Shown;

const EXAMPLES: [(&str, Example); 5] = [
    ("tcp", |url| shown(|out| by_tcp::run(url, out).unwrap())),
    ("ureq", |url| shown(|out| by_ureq::run(url, out).unwrap())),
    ("reqwest", |url| {
        shown(|out| runtime().block_on(by_reqwest::run(url, out)).unwrap())
    }),
    ("hyper", |url| {
        shown(|out| runtime().block_on(by_hyper::run(url, out)).unwrap())
    }),
    ("channel", |url| {
        shown(|out| runtime().block_on(by_channel::run(url, out)).unwrap())
    }),
];

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn shown(run: impl FnOnce(&mut Vec<u8>) -> ChatCompletion) -> Shown {
    let mut out = Vec::new();
    let completion = run(&mut out);
    let text = String::from_utf8(out).unwrap();
    let is_of_the_transport = |line: &str| line.starts_with("cut off: ") && line.len() > 9;
    let lines = text.lines().map(|line| match is_of_the_transport(line) {
        true => "cut off: ...",
        false => line,
    });
    (lines.collect::<Vec<_>>().join("\n"), completion)
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).unwrap()
}

/// What a parser says of it, and how that is written.
fn expected(body: &[u8], dies_at: Option<usize>) -> Shown {
    let mut parser = Parser::new();
    parser.feed(&body[..dies_at.unwrap_or(body.len())]);
    match dies_at {
        Some(_) => parser.abort(),
        None => parser.finish(),
    }
    let mut text = String::new();
    while let Some(item) = parser.next_event() {
        text += &match item {
            Ok(Event::ChunkParsed(chunk)) => chunk.text().to_owned(),
            Ok(Event::ToolCallComplete { call, .. }) => {
                format!("\n{}({})\n", call.name(), call.arguments())
            }
            Ok(Event::UsageFrame(usage)) => format!("\ntokens: {:?}\n", usage.total_tokens),
            Ok(_) => "\ndone\n".to_owned(),
            Err(error) if error.kind() == ErrorKind::Truncated && dies_at.is_some() => {
                "\ncut off: ...\n".to_owned()
            }
            Err(error) => match error.api() {
                Some(api) => format!("\nthe server says: {}\n", api.message),
                None => format!("\n{error}\n"),
            },
        };
    }
    let lines: Vec<_> = text.lines().collect();
    (lines.join("\n"), parser.into_completion())
}

fn check(content_type: &'static str, body: &[u8], seed: u64, dies_at: Option<usize>) -> Shown {
    let expected = expected(body, dies_at);
    let url = serve(Reply {
        content_type,
        body: body.to_vec(),
        seed,
        dies_at,
    });
    let url = url.unwrap();
    for (name, run) in EXAMPLES {
        assert_eq!(run(&url), expected, "{name}, seed {seed}, {dies_at:?}");
    }
    check_tee(&url, body, dies_at);
    expected
}

/// The bytes come through as they are, and the usage is read of as many as came.
fn check_tee(url: &str, body: &[u8], dies_at: Option<usize>) {
    type Seen = (Option<Usage>, Vec<(ErrorKind, u64)>);
    let (sender, receiver) = mpsc::channel::<Seen>();
    let sender = Mutex::new(sender);
    let seen: by_tee::Seen = Arc::new(move |usage, errors| {
        let errors = errors.iter().map(|error| (error.kind(), error.offset()));
        let seen = (usage.cloned(), errors.collect());
        sender.lock().unwrap().send(seen).unwrap();
    });
    let upstream = url.strip_prefix("http://").unwrap().split('/').next();
    let upstream = upstream.unwrap().to_owned();
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Where the server dies at once the proxy may not even send its head.
        let is_broken = match ureq::post(format!("http://{address}/v1")).send("{}") {
            Ok(response) => {
                let mut body = response.into_body().into_reader();
                body.read_to_end(&mut bytes).is_err()
            }
            Err(_) => true,
        };
        let seen = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        (bytes, is_broken, seen)
    });
    let (bytes, is_broken, seen) = runtime.block_on(async {
        let client = tokio::task::spawn_blocking(|| client.join().unwrap());
        tokio::select! {
            result = by_tee::run(listener, upstream, seen) => panic!("{result:?}"),
            client = client => client.unwrap(),
        }
    });
    assert_eq!(is_broken, dies_at.is_some(), "it breaks as the server does");
    assert!(body.starts_with(&bytes));
    let mut parser = Parser::new();
    parser.feed(&body[..dies_at.unwrap_or(body.len())]);
    match dies_at {
        Some(_) => parser.abort(),
        None => assert_eq!(bytes.len(), body.len()),
    }
    parser.finish();
    let errors: Vec<_> = std::iter::from_fn(|| parser.next_owned())
        .filter_map(|item| item.err().map(|error| (error.kind(), error.offset())))
        .collect();
    assert_eq!(seen, (parser.completion().usage.clone(), errors));
}

#[test]
fn every_example_reads_a_stream_that_is_cut_at_random() {
    without_proxy("every_example_reads_a_stream_that_is_cut_at_random", || {
        let names = "answer tool_calls reasoning usage_last two_choices comments logprobs";
        for (seed, name) in (1..).zip(names.split(' ').cycle().take(14)) {
            let body = fixture(&format!("{name}.sse"));
            let (shown, completion) = check("text/event-stream", &body, seed, None);
            assert!(shown.ends_with("done"), "{shown}");
            assert!(!completion.choices.is_empty());
        }
    });
}

#[test]
fn every_example_keeps_what_came_from_a_server_that_dies_in_the_middle() {
    without_proxy(
        "every_example_keeps_what_came_from_a_server_that_dies_in_the_middle",
        || {
            let mut random = Random(7);
            for seed in 0..12 {
                let name = ["tool_calls.sse", "usage_last.sse"][usize::from(seed % 2 == 0)];
                let body = fixture(name);
                // Before the end marker, and also before all else.
                let dies_at = if seed == 0 {
                    0
                } else {
                    random.below(body.len() - 14)
                };
                let (shown, _) = check("text/event-stream", &body, seed, Some(dies_at));
                assert!(shown.ends_with("cut off: ..."), "{shown}");
            }
        },
    );
}

#[test]
fn every_example_tells_an_error_that_comes_after_200() {
    without_proxy("every_example_tells_an_error_that_comes_after_200", || {
        for seed in 0..3 {
            let body = fixture("error_mid_stream.sse");
            let (shown, completion) = check("text/event-stream", &body, seed, None);
            assert!(shown.contains("\nthe server says: "), "{shown}");
            assert!(!completion.text().is_empty());
        }
    });
}

#[test]
fn every_example_reads_plain_json() {
    without_proxy("every_example_reads_plain_json", || {
        let answer = json!({"object": "chat.completion", "id": "c", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hello"}}], "usage": {"total_tokens": 7}});
        let error = json!({"error": {"message": "no such model", "code": "model_not_found"}});
        for seed in 0..2 {
            let body = format!("{answer:#}");
            let (shown, _) = check("application/json", body.as_bytes(), seed, None);
            assert_eq!(shown, "Hello\ntokens: Some(7)\n\ndone");
            let body = error.to_string();
            let (shown, _) = check("application/json", body.as_bytes(), seed, None);
            assert!(
                shown.starts_with("\nthe server says: no such model\n"),
                "{shown}"
            );
        }
    });
}
