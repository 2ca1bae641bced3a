//! What an ID costs in Rust, beside others that sort by time: `cargo bench -p sno-core`, with `--features mask` for the masks, too. What it
//! costs in PostgreSQL: `../../bench`.
#![allow(missing_docs)] // What criterion's macros write.

use std::{
    hint::black_box,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ferroid::{generator::AtomicSnowflakeGenerator, id::SnowflakeMastodonId, time::MonotonicClock};
use sno_core::{Generator, SequenceRange, Sno};
use ulid::Ulid;
use uuid::Uuid;

const TEXT: &str = "9q7k4op826n2g222";

fn text(c: &mut Criterion) {
    let id: Sno = TEXT.parse().unwrap();
    let (ulid, uuid) = (ulid::Generator::new().generate().unwrap(), Uuid::now_v7());
    let [ulid_text, uuid_text] = [ulid.to_string(), uuid.to_string()];
    let mut group = c.benchmark_group("text in");
    group.bench_function("sno", |b| b.iter(|| black_box(TEXT).parse::<Sno>()));
    group.bench_function("ulid", |b| b.iter(|| black_box(&*ulid_text).parse::<Ulid>()));
    group.bench_function("uuid", |b| b.iter(|| black_box(&*uuid_text).parse::<Uuid>()));
    group.finish();
    let mut group = c.benchmark_group("text out");
    group.bench_function("sno", |b| b.iter(|| black_box(id).to_string()));
    group.bench_function("ulid", |b| b.iter(|| black_box(ulid).to_string()));
    group.bench_function("uuid", |b| b.iter(|| black_box(uuid).to_string()));
    group.finish();
}

fn comparison(c: &mut Criterion) {
    // In an order that is none of the IDs'.
    fn shuffled<T>(mut ids: Vec<T>) -> Vec<T> {
        let mut state = 7_u64;
        for last in (1..ids.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ids.swap(last, (state >> 33) as usize % (last + 1));
        }
        ids
    }
    fn sort<T: Ord + Clone>(ids: &[T]) -> Vec<T> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    }
    const COUNT: usize = 10_000;
    let generator = Generator::new(7, SequenceRange::default());
    let mut ulids = ulid::Generator::new();
    let ids = shuffled((0..COUNT).map(|_| generator.generate(1).unwrap()).collect());
    let ulids = shuffled((0..COUNT).map(|_| ulids.generate().unwrap()).collect());
    let uuids = shuffled((0..COUNT).map(|_| Uuid::now_v7()).collect());
    let mut group = c.benchmark_group("sort 10,000");
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("sno", |b| b.iter(|| sort(&ids)));
    group.bench_function("ulid", |b| b.iter(|| sort(&ulids)));
    group.bench_function("uuid", |b| b.iter(|| sort(&uuids)));
    group.finish();
}

/// How long it takes until each of so many threads has so many IDs of what they share.
fn on_threads(threads: usize, count: u64, generate: impl Fn() + Sync) -> Duration {
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..count).for_each(|_| generate()));
        }
    });
    began.elapsed()
}

fn generating(c: &mut Criterion) {
    for threads in [1, 2] {
        let mut group = c.benchmark_group(format!("generate on {threads}"));
        let mut measure = |name: &str, generate: &(dyn Fn() + Sync)| {
            group.bench_function(name, |b| b.iter_custom(|count| on_threads(threads, count, generate)));
        };
        let shared = Generator::new(7, SequenceRange::default());
        measure("sno", &|| {
            black_box(shared.generate(1).unwrap());
        });
        let ulids = Mutex::new(ulid::Generator::new());
        measure("ulid", &|| {
            black_box(ulids.lock().unwrap().generate().unwrap());
        });
        measure("uuid v7", &|| {
            black_box(Uuid::now_v7());
        });
        // With as many numbers in a millisecond as `Generator` has in four.
        let snowflakes =
            AtomicSnowflakeGenerator::<SnowflakeMastodonId, _>::new(0, MonotonicClock::<1>::default());
        measure("ferroid", &|| {
            black_box(snowflakes.next_id(|_| thread::yield_now()));
        });
        group.finish();
    }
}

#[cfg(feature = "mask")]
fn masks(c: &mut Criterion) {
    let mask = sno_core::mask::Key::new(&[7; 16]).unwrap();
    let id: Sno = TEXT.parse().unwrap();
    let masked = mask.mask(id, b"orders");
    c.bench_function("mask", |b| b.iter(|| mask.mask(black_box(id), b"orders")));
    c.bench_function("unmask", |b| b.iter(|| mask.unmask(black_box(&masked), b"orders")));
}

#[cfg(not(feature = "mask"))]
fn masks(_: &mut Criterion) {}

criterion_group!(benches, text, comparison, generating, masks);
criterion_main!(benches);
