//! Framing alone: bytes in, frames out.
#![allow(missing_docs, reason = "what criterion's macros make is public")]

mod streams;

use core::hint::black_box;
use core::time::Duration;

use chatwire::sse::Decoder;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use streams::Cut;

fn framing(criterion: &mut Criterion) {
    for stream in [streams::content(), streams::cjk(), streams::fat()] {
        let mut group = criterion.benchmark_group(format!("framing/{}", stream.name));
        group.throughput(Throughput::Bytes(stream.bytes.len() as u64));
        for cut in Cut::ALL {
            let reads = stream.reads(cut);
            group.bench_function(cut.name(), |bencher| {
                bencher.iter(|| {
                    let mut decoder = Decoder::new();
                    for read in &reads {
                        decoder.feed(read);
                        while let Some(frame) = decoder.next_frame() {
                            black_box(frame.is_ok());
                        }
                    }
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = framing
}
criterion_main!(benches);
