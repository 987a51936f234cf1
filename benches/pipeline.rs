//! All of it: bytes in, events out, the answer at the end.
#![allow(missing_docs, reason = "what criterion's macros make is public")]

mod streams;

use core::hint::black_box;
use core::time::Duration;

use chatwire::Parser;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use streams::Cut;

fn pipeline(criterion: &mut Criterion) {
    for stream in streams::all() {
        let mut group = criterion.benchmark_group(format!("pipeline/{}", stream.name));
        group.throughput(Throughput::Elements(stream.payloads() as u64));
        for cut in Cut::ALL {
            let reads = stream.reads(cut);
            group.bench_function(cut.name(), |bencher| {
                bencher.iter(|| {
                    let mut parser = Parser::new();
                    for read in &reads {
                        parser.feed(read);
                        while let Some(event) = parser.next_event() {
                            black_box(event.is_ok());
                        }
                    }
                    parser.finish();
                    while let Some(event) = parser.next_event() {
                        black_box(event.is_ok());
                    }
                    parser.into_completion()
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
    targets = pipeline
}
criterion_main!(benches);
