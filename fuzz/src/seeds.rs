//! Seeds, made from `fixtures/`: what a target reads of each stream there.

use std::fs;
use std::path::PathBuf;

use chatwire::chunk::{Decoder, Payload};
use chatwire::{Parser, sse};

use crate::common::{Case, cases};
use crate::roundtrip::Json;
use crate::tools::{Arguments, Fragment, Kind};
use crate::{Input, folder};

fn fixtures() -> PathBuf {
    folder().join("../fixtures")
}

/// Every `.jsonl` file of cases, and every whole stream.
fn streams() -> Vec<Case> {
    let mut streams = Vec::new();
    for name in [
        "streams.jsonl",
        "streams_expected.jsonl",
        "deviations.jsonl",
    ] {
        streams.extend(cases(&fixtures().join(name)));
    }
    streams
}

/// A body with switches and sizes that differ from one seed to the next.
fn input(nth: usize, body: &[u8]) -> Vec<u8> {
    const SWITCHES: [u8; 8] = [
        0,
        0,
        0,
        Input::ABORT,
        0,
        Input::SMALL,
        Input::STRICT,
        Input::SMALL | Input::STRICT,
    ];
    const SIZES: [[u8; 3]; 5] = [[0, 0, 0], [1, 1, 1], [7, 0, 64], [3, 200, 1], [100, 30, 0]];
    let (switches, sizes) = (SWITCHES[nth % SWITCHES.len()], SIZES[nth % SIZES.len()]);
    Input {
        switches,
        sizes,
        body,
    }
    .to_bytes()
}

fn inputs<'a>(bodies: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    bodies
        .into_iter()
        .enumerate()
        .map(|(nth, body)| input(nth, body))
        .collect()
}

/// The payloads of a stream.
fn payloads(stream: &[u8]) -> Vec<(bool, String)> {
    let mut decoder = sse::Decoder::new();
    decoder.feed(stream);
    decoder.finish();
    let mut payloads = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        let frame = frame.expect("no fixture is over the limit");
        payloads.push((frame.event == "error", frame.data.to_owned()));
    }
    payloads
}

pub fn framing() -> Vec<Vec<u8>> {
    let mut cases = cases(&fixtures().join("framing.jsonl"));
    cases.extend(streams().into_iter().filter(|case| case.input.len() < 600));
    inputs(cases.iter().map(|case| &case.input[..]))
}

pub fn decode() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in streams() {
        for (is_error, payload) in payloads(&case.input) {
            seeds.push([&[u8::from(is_error)], payload.as_bytes()].concat());
        }
    }
    seeds.sort();
    seeds.dedup();
    seeds
}

pub fn pipeline() -> Vec<Vec<u8>> {
    inputs(streams().iter().map(|case| &case.input[..]))
}

pub fn template() -> Vec<Vec<u8>> {
    let scripts = streams().into_iter().map(|case| {
        let payloads = payloads(&case.input)
            .into_iter()
            .map(|(_, payload)| payload.replace('\n', " "));
        payloads.collect::<Vec<_>>().join("\n").into_bytes()
    });
    let mut scripts: Vec<Vec<u8>> = scripts.filter(|script| script.len() < 4000).collect();
    // Nearly the same, again and again.
    for shape in [
        r#"{"id":"c","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"obfuscation":"b"}"#,
        r#"{"id":"c","created":1,"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"a"},"finish_reason":null}]}"#,
        r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning":"a","content":"b"}}],"usage":{"prompt_tokens":1}}"#,
    ] {
        for kind in [b'~', b'^', b'+'] {
            let mut script = shape.as_bytes().to_vec();
            for (nth, text) in (0..).zip([
                "x",
                "",
                "\\n",
                "\\ud83d\\ude00",
                "\\ud83d",
                "\u{e9}",
                "\"",
                "7",
                "01",
                "\"y\"",
                "null",
                "[]",
            ]) {
                script.extend([b'\n', kind, nth * 3 + 1]);
                script.extend_from_slice(text.as_bytes());
                script.extend_from_slice(b"\n=");
            }
            scripts.push(script);
        }
    }
    inputs(scripts.iter().map(|script| &script[..]))
}

pub fn tools() -> Vec<Vec<u8>> {
    let seeds = streams().into_iter().enumerate().filter_map(|(nth, case)| {
        let fragments = fragments(&case.input);
        let mut seed = vec![u8::try_from(nth % 4).unwrap_or_default()];
        fragments
            .iter()
            .for_each(|fragment| fragment.write(&mut seed));
        (!fragments.is_empty()).then_some(seed)
    });
    seeds.collect()
}

/// The fragments of tool calls in a stream. Ids and names become numbers.
fn fragments(stream: &[u8]) -> Vec<Fragment> {
    fn nth(known: &mut Vec<String>, text: &str) -> usize {
        let found = known.iter().position(|known| known == text);
        found.unwrap_or_else(|| {
            known.push(text.to_owned());
            known.len() - 1
        })
    }

    let (mut ids, mut names) = (Vec::new(), Vec::new());
    let mut fragments = Vec::new();
    let mut decoder = Decoder::new();
    for (_, payload) in payloads(stream) {
        let mut payloads = decoder.payloads(&payload);
        while let Some(payload) = payloads.next_payload() {
            let Ok(Payload::Chunk(chunk)) = payload else {
                continue;
            };
            let mut is_new_chunk = true;
            for choice in &chunk.choices {
                let mut reason =
                    choice
                        .finish_reason
                        .as_ref()
                        .map(|reason| match reason.as_str() {
                            "stop" => 1,
                            "length" => 2,
                            _ => 0,
                        });
                let mut add = |index: Option<u32>,
                               id: Option<&str>,
                               name: Option<&str>,
                               arguments: Option<&str>,
                               kind,
                               has_type| {
                    let arguments = arguments.map_or(Arguments::Common(0), |text| {
                        let end =
                            (0..=text.len().min(255)).rfind(|end| text.is_char_boundary(*end));
                        Arguments::Text(text[..end.unwrap_or_default()].to_owned())
                    });
                    fragments.push(Fragment {
                        choice: u8::try_from(choice.index.min(2)).unwrap_or_default(),
                        is_new_chunk: core::mem::take(&mut is_new_chunk),
                        kind,
                        has_type,
                        as_json: false,
                        index: index.map_or(0, |index| {
                            u8::try_from(index.min(4)).unwrap_or_default() + 1
                        }),
                        id: id.map_or(0, |id| {
                            if id.is_empty() {
                                9
                            } else {
                                Fragment::id_of(nth(&mut ids, id))
                            }
                        }),
                        name: name.map_or(0, |name| {
                            if name.is_empty() {
                                7
                            } else {
                                Fragment::name_of(nth(&mut names, name))
                            }
                        }),
                        arguments,
                        reason: reason.take(),
                    });
                };
                for call in &choice.delta.tool_calls {
                    let (function, custom) = (call.function.as_ref(), call.custom.as_ref());
                    let name = function.map_or_else(
                        || custom.and_then(|of| of.name.as_deref()),
                        |of| of.name.as_deref(),
                    );
                    let arguments = function.map_or_else(
                        || custom.and_then(|of| of.input.as_deref()),
                        |of| of.arguments.as_deref(),
                    );
                    let kind = if custom.is_some() {
                        Kind::Custom
                    } else {
                        Kind::Function
                    };
                    add(
                        call.index,
                        call.id.as_deref(),
                        name,
                        arguments,
                        kind,
                        call.r#type.is_some(),
                    );
                }
                if let Some(call) = &choice.delta.function_call {
                    add(
                        None,
                        None,
                        call.name.as_deref(),
                        call.arguments.as_deref(),
                        Kind::Legacy,
                        false,
                    );
                }
                // A finish reason that comes alone is on a fragment that says nothing.
                let is_alone =
                    choice.delta.tool_calls.is_empty() && choice.delta.function_call.is_none();
                if choice.finish_reason.is_some() && is_alone {
                    add(None, None, None, None, Kind::Function, false);
                }
            }
        }
    }
    let says_something =
        |fragment: &Fragment| fragment.name != 0 || fragment.arguments != Arguments::Common(0);
    if fragments.iter().any(says_something) {
        fragments
    } else {
        Vec::new()
    }
}

pub fn roundtrip() -> Vec<Vec<u8>> {
    let answers: Vec<Vec<u8>> = streams()
        .iter()
        .map(|case| {
            let mut parser = Parser::new();
            parser.feed(&case.input);
            parser.finish();
            while parser.next_event().is_some() {}
            let mut answer = Vec::new();
            Json(serde_json::to_value(parser.completion()).expect("it serialises"))
                .write(&mut answer);
            answer
        })
        .collect();
    inputs(answers.iter().map(|answer| &answer[..]))
}

/// The committed inputs that once broke something, by name.
#[must_use]
pub fn regressions(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(&folder().join("regressions").join(target))
}

/// The files of a folder, sorted by name; none if there is no such folder.
#[must_use]
pub fn files(folder: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).expect("a file that is there")))
        .collect()
}
