//! Streams against which nothing can be remembered: a surprise at the end of each payload, and no two payloads alike.

use std::collections::HashSet;

use super::deltas::{DELTAS, LONGEST_PADDING, ROLE, deltas, token};
use super::rng::Rng;
use super::wire::{ENVELOPE, Wire, fields, quoted};
use super::{Answer, Stream};

/// The content stream, with a key that never came before at the very end of each payload: the worst for any memo.
pub(crate) fn miss() -> Stream {
    deltas("miss", 6, |_, nth| format!(r#","x_{nth}":0"#))
}

/// The fields of the content stream in an order that no other payload has.
pub(crate) fn plain() -> Stream {
    let mut rng = Rng::new(7);
    let mut wire = Wire::new("plain");
    let mut answer = Answer::default();
    let mut shapes = HashSet::new();
    let mut send = |rng: &mut Rng, delta: &str, finish_reason: &str| {
        let obfuscation = quoted(&rng.padding(LONGEST_PADDING));
        let mut of_chunk = ENVELOPE.to_vec();
        of_chunk.extend([("obfuscation", obfuscation.as_str()), ("choices", "")]);
        let mut of_choice = [
            ("index", "0"),
            ("delta", delta),
            ("logprobs", "null"),
            ("finish_reason", finish_reason),
        ];
        loop {
            rng.shuffle(&mut of_chunk);
            rng.shuffle(&mut of_choice);
            let keys = of_chunk.iter().chain(&of_choice).map(|(key, _)| *key);
            if shapes.insert(keys.collect::<Vec<_>>().join(" ")) {
                break;
            }
        }
        let choices = format!("[{{{}}}]", fields(&of_choice));
        for (key, value) in &mut of_chunk {
            if *key == "choices" {
                *value = &choices;
            }
        }
        wire.event(&format!("{{{}}}", fields(&of_chunk)));
    };
    send(&mut rng, ROLE, "null");
    for _ in 0..DELTAS {
        let token = token(&mut rng);
        answer.content.push_str(token);
        send(
            &mut rng,
            &format!(r#"{{"content":{}}}"#, quoted(token)),
            "null",
        );
    }
    send(&mut rng, "{}", r#""stop""#);
    wire.done(answer)
}
