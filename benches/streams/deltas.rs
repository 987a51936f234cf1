//! Streams of text: as OpenAI sends it, as DeepSeek sends it with reasoning, and with log probabilities.

use super::rng::Rng;
use super::wire::{Wire, choice, openai, quoted};
use super::{Answer, Stream};

pub(crate) const DELTAS: usize = 2_000;
const LOGPROB_DELTAS: usize = 500;
const TOP_LOGPROBS: usize = 5;
pub(crate) const LONGEST_PADDING: usize = 16;
pub(crate) const ROLE: &str = r#"{"role":"assistant","content":"","refusal":null}"#;

/// 1 to 8 characters each, some with escapes, some not ASCII.
const TOKENS: &[&str] = &[
    " the",
    " a",
    " of",
    "ing",
    " stream",
    " token",
    ",",
    ".",
    " is",
    " parser",
    "er",
    " and",
    " in",
    " to",
    "\n",
    "\n\n",
    " \"",
    "\"",
    "s",
    " événem",
    "ent",
    " bytes",
    " read",
    "ly",
    " —",
    " 42",
    "(",
    ")",
    " that",
    " which",
    " answer",
    "I",
    " model",
    "ed",
    " one",
    " tool",
    " call",
];

const HAN: &[char] = &[
    '的', '一', '是', '在', '不', '了', '有', '和', '人', '这', '中', '大', '为', '上', '个', '国',
    '我', '以', '要', '他', '时', '来', '用', '们', '生', '到', '作', '地', '于', '出', '，', '。',
];

pub(crate) fn token(rng: &mut Rng) -> &'static str {
    rng.pick(TOKENS)
}

/// 2,000 deltas of 1 to 8 characters in the full OpenAI shape, about 322 bytes per event.
pub(crate) fn content() -> Stream {
    deltas("content", 1, |_, _| String::new())
}

/// The content stream, with something at the very end of each payload.
pub(crate) fn deltas(
    name: &'static str,
    seed: u64,
    mut tail: impl FnMut(&mut Rng, usize) -> String,
) -> Stream {
    let mut rng = Rng::new(seed);
    let mut wire = Wire::new(name);
    let mut answer = Answer::default();
    let mut send = |rng: &mut Rng, nth: usize, choice: &str| {
        let padding = rng.padding(LONGEST_PADDING);
        let tail = tail(rng, nth);
        wire.event(&openai(choice, &padding, &tail));
    };
    send(&mut rng, 0, &choice(ROLE, "null", "null"));
    for nth in 0..DELTAS {
        let token = token(&mut rng);
        answer.content.push_str(token);
        let delta = format!(r#"{{"content":{}}}"#, quoted(token));
        send(&mut rng, nth + 1, &choice(&delta, "null", "null"));
    }
    send(&mut rng, DELTAS + 1, &choice("{}", "null", r#""stop""#));
    wire.done(answer)
}

/// DeepSeek's shape: 1,000 deltas of reasoning, then 1,000 of content, in Chinese, with the usage in the last chunk.
pub(crate) fn cjk() -> Stream {
    let mut rng = Rng::new(2);
    let mut wire = Wire::new("cjk");
    let mut answer = Answer::default();
    let mut send = |delta: &str, finish_reason: &str, usage: &str| {
        let choice = choice(delta, "null", finish_reason);
        wire.event(&format!(
            r#"{{"id":"7f0c2a9e-3b54-4c1d-9e86-5a2d41b7c603","object":"chat.completion.chunk","created":1760000000,"model":"deepseek-reasoner","system_fingerprint":"fp_ffc7281d48_prod0820_fp8_kvcache","choices":[{choice}]{usage}}}"#
        ));
    };
    send(
        r#"{"role":"assistant","content":null,"reasoning_content":""}"#,
        "null",
        "",
    );
    for nth in 0..DELTAS {
        let text: String = (0..=rng.below(4)).map(|_| rng.pick(HAN)).collect();
        if nth < DELTAS / 2 {
            answer.reasoning.push_str(&text);
            let delta = format!(r#"{{"content":null,"reasoning_content":"{text}"}}"#);
            send(&delta, "null", "");
        } else {
            answer.content.push_str(&text);
            let delta = format!(r#"{{"content":"{text}","reasoning_content":null}}"#);
            send(&delta, "null", "");
        }
    }
    send(
        r#"{"content":"","reasoning_content":null}"#,
        r#""stop""#,
        r#","usage":{"prompt_tokens":19,"completion_tokens":5012,"total_tokens":5031,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":2511},"prompt_cache_hit_tokens":0,"prompt_cache_miss_tokens":19}"#,
    );
    wire.done(answer)
}

/// 500 deltas, each with the log probability of its token and of the five likeliest in its place, bytes included.
pub(crate) fn logprobs() -> Stream {
    let mut rng = Rng::new(3);
    let mut wire = Wire::new("logprobs");
    let mut answer = Answer::default();
    let send = |rng: &mut Rng, wire: &mut Wire, choice: &str| {
        wire.event(&openai(choice, &rng.padding(LONGEST_PADDING), ""));
    };
    send(&mut rng, &mut wire, &choice(ROLE, "null", "null"));
    for _ in 0..LOGPROB_DELTAS {
        let text = token(&mut rng);
        answer.content.push_str(text);
        let top: Vec<String> = (0..TOP_LOGPROBS)
            .map(|_| {
                let other = token(&mut rng);
                format!("{{{}}}", logprob(&mut rng, other))
            })
            .collect();
        let logprobs = format!(
            r#"{{"content":[{{{},"top_logprobs":[{}]}}],"refusal":null}}"#,
            logprob(&mut rng, text),
            top.join(",")
        );
        let delta = format!(r#"{{"content":{}}}"#, quoted(text));
        send(&mut rng, &mut wire, &choice(&delta, &logprobs, "null"));
    }
    send(&mut rng, &mut wire, &choice("{}", "null", r#""stop""#));
    wire.done(answer)
}

/// The fields of a token and its log probability.
fn logprob(rng: &mut Rng, token: &str) -> String {
    let bytes: Vec<String> = token.bytes().map(|byte| byte.to_string()).collect();
    format!(
        r#""token":{},"logprob":-{}.{:06},"bytes":[{}]"#,
        quoted(token),
        rng.below(20),
        rng.below(1_000_000),
        bytes.join(",")
    )
}
