//! What an ID costs without a server, beside the crates that do the same job. `make bench` puts these figures into
//! its table; `cargo bench -p sno-bench --bench crates` prints them.
//!
//! Each crate does what its documentation recommends for speed: text goes into a buffer where the crate can do
//! that, and random numbers come from a generator in the process, not from the system.

use std::{hint::black_box, time::SystemTime};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ferroid::{base32::Base32UlidExt, generator::thread_local, id::ULID};
use sno_core::{Generator, Sno};
use ulid::Ulid;
use uuid::Uuid;

/// Enough values that no branch is learnt by heart, few enough to stay in the nearest cache.
const COUNT: u64 = 1024;

fn generate(c: &mut Criterion) {
    let mut group = c.benchmark_group("one ID");
    group.bench_function("clock reading alone", |b| b.iter(SystemTime::now));
    // One generator makes 65,536 IDs in 4 ms, which a tight loop can exceed; sixteen in turn show the cost of
    // an ID and not the limit of a pool.
    let generators: Vec<Generator> =
        (0..16).map(|partition| Generator::new(partition, Default::default())).collect();
    let mut turn = 0;
    group.bench_function("sno", |b| {
        b.iter(|| {
            turn = (turn + 1) % 16;
            generators[turn].generate(1)
        });
    });
    group.bench_function("sno, one generator: at most 16.4 million a second", |b| {
        b.iter(|| generators[0].generate(1));
    });
    group.bench_function("uuid, version 4", |b| b.iter(Uuid::new_v4));
    group.bench_function("uuid, version 7", |b| b.iter(Uuid::now_v7));
    group.bench_function("ulid, random", |b| b.iter(Ulid::generate));
    let mut ulid = ulid::Generator::new();
    group.bench_function("ulid, counting", |b| b.iter(|| ulid.generate().map_or(0, |id| id.0)));
    group.bench_function("ferroid, counting, one thread, clock read by another", |b| {
        b.iter(|| thread_local::Ulid::new_ulid_mono(|_| std::thread::yield_now()));
    });
    group.bench_function("xid", |b| b.iter(xid::new));
    group.finish();
}

fn handle(c: &mut Criterion) {
    contender(
        c,
        "sno",
        |n| Sno::from_bytes(n[..10].try_into().unwrap()),
        |id| id.to_text(),
        |text| Sno::parse_bytes(text.as_bytes()),
    );
    let write = |id: &Uuid| {
        let mut buffer = Uuid::encode_buffer();
        id.as_hyphenated().encode_lower(&mut buffer);
        buffer
    };
    contender(c, "uuid", |n| uuid::Builder::from_random_bytes(n).into_uuid(), write, Uuid::parse_str);
    let write = |id: &Ulid| {
        let mut buffer = [0; ulid::ULID_LEN];
        id.array_to_str(&mut buffer);
        buffer
    };
    contender(c, "ulid", Ulid::from_bytes, write, Ulid::from_string);
    let read = |text: &str| ULID::decode(text);
    contender(c, "ferroid", |n| ULID::from_raw(u128::from_be_bytes(n)), ULID::encode, read);
    let read = |text: &str| text.parse::<xid::Id>();
    contender(c, "xid", |n| xid::Id::from_bytes(&n[..12]).unwrap(), xid::Id::to_string, read);
}

/// What a type does with values spread over all bits, the same in each run.
fn contender<T: Copy + Ord + ToString, W, R>(
    c: &mut Criterion,
    name: &str,
    value: impl Fn([u8; 16]) -> T,
    write: impl Fn(&T) -> W,
    read: impl Fn(&str) -> R,
) {
    let numbers = (1..=u128::from(COUNT)).map(|n| n.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645));
    let values: Vec<T> = numbers.map(|number| value(number.to_be_bytes())).collect();
    let texts: Vec<String> = values.iter().map(T::to_string).collect();
    // Each value with its neighbour.
    let pairs: Vec<(T, T)> = values.iter().copied().zip(values.iter().copied().cycle().skip(1)).collect();
    each(c, "ID to text", name, &values, write);
    each(c, "text to ID, validated", name, &texts, |text| read(text));
    each(c, "comparison", name, &pairs, |(a, b)| a.cmp(b));
}

/// Does something with each of some values; the time is that of one.
fn each<T, R>(c: &mut Criterion, group: &str, name: &str, values: &[T], work: impl Fn(&T) -> R) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(COUNT));
    group.bench_function(name, |b| {
        b.iter(|| {
            for value in values {
                black_box(work(black_box(value)));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, generate, handle);
criterion_main!(benches);
