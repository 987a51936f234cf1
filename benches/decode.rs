//! Decoding alone: the texts of payloads in, chunks out.
#![allow(missing_docs, reason = "what criterion's macros make is public")]

mod streams;

use core::hint::black_box;
use core::time::Duration;

use chatwire::Chunk;
use chatwire::chunk::Decoder;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn decode(criterion: &mut Criterion) {
    for stream in streams::all() {
        let texts: Vec<&str> = stream.texts().collect();
        let mut group = criterion.benchmark_group(format!("decode/{}", stream.name));
        group.throughput(Throughput::Elements(texts.len() as u64));
        group.bench_function("one decoder", |bencher| {
            let mut decoder = Decoder::new();
            bencher.iter(|| {
                for text in &texts {
                    let mut payloads = decoder.payloads(text);
                    while let Some(payload) = payloads.next_payload() {
                        black_box(payload.is_ok());
                    }
                }
            });
        });
        group.bench_function("a chunk of its own each", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(Chunk::from_json(text).is_ok());
                }
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = decode
}
criterion_main!(benches);
