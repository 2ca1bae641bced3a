//! What an ID costs: making one, writing it, reading it, comparing two.

use std::{hint::black_box, time::SystemTime};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sno_core::{Generator, Sno, decode, encode};

/// Ids spread over all bits, so that no branch can be predicted.
fn ids(count: u64) -> Vec<Sno> {
    (1..=count)
        .map(|n| {
            let mixed = (n as u128).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
            Sno::from_bytes(mixed.to_be_bytes()[..10].try_into().unwrap())
        })
        .collect()
}

fn generate(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    group.bench_function("clock reading alone", |b| b.iter(SystemTime::now));
    // One partition makes at most 65,536 IDs a tick, one every 61 ns: eight in turn show what an ID costs,
    // one alone the limit of its pool.
    let generators: [_; 8] =
        std::array::from_fn(|partition| Generator::new(partition as u16, Default::default()));
    let mut turn = 0;
    group.bench_function("sno, eight partitions in turn", |b| {
        b.iter(|| {
            turn = (turn + 1) % generators.len();
            generators[turn].generate(1)
        })
    });
    group.bench_function("sno, one partition", |b| b.iter(|| generators[0].generate(1)));
    group.finish();
}

fn text(c: &mut Criterion) {
    let ids = ids(1024);
    let texts: Vec<_> = ids.iter().map(|id| id.to_text()).collect();
    let mut group = c.benchmark_group("text, 1024 IDs");
    group.throughput(Throughput::Elements(ids.len() as u64));
    group.bench_function("encode", |b| {
        b.iter(|| {
            for id in &ids {
                black_box(encode(black_box(id).to_bytes()));
            }
        })
    });
    group.bench_function("decode", |b| {
        b.iter(|| {
            for text in &texts {
                let _ = black_box(decode(black_box(text)));
            }
        })
    });
    group.finish();
}

fn compare(c: &mut Criterion) {
    let ids = ids(1024);
    let mut group = c.benchmark_group("compare");
    group.throughput(Throughput::Elements(ids.len() as u64 - 1));
    group.bench_function("cmp, 1023 pairs", |b| {
        b.iter(|| {
            for pair in ids.windows(2) {
                black_box(black_box(&pair[0]).cmp(black_box(&pair[1])));
            }
        })
    });
    group.throughput(Throughput::Elements(ids.len() as u64));
    group.bench_function("sort, 1024 IDs", |b| {
        b.iter_batched_ref(|| ids.clone(), |ids| ids.sort_unstable(), criterion::BatchSize::SmallInput)
    });
    group.finish();
}

criterion_group!(benches, generate, text, compare);
criterion_main!(benches);
