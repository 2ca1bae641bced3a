//! What an ID costs without a server, beside the crates that do the same job. `make bench` puts these figures into
//! its table; `cargo bench -p sno-bench --bench crates` prints them.
//!
//! Each crate does what its documentation recommends for speed: text goes into a buffer where the crate can do
//! that, and random numbers come from a generator in the process, not from the system.

use std::{hint::black_box, time::SystemTime};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use ferroid::{base32::Base32UlidExt, generator::thread_local, id::ULID};
use sno_core::{Generator, Sno};
use ulid::Ulid;
use uuid::Uuid;

/// Enough values that no branch is learnt by heart, few enough to stay in the nearest cache.
const COUNT: u64 = 1024;

/// Numbers spread over all bits, the same in each run.
fn numbers() -> impl Iterator<Item = u128> {
    (1..=u128::from(COUNT)).map(|n| n.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645))
}

fn snos() -> Vec<Sno> {
    numbers().map(|number| Sno::from_bytes(number.to_be_bytes()[..10].try_into().unwrap())).collect()
}

fn uuids() -> Vec<Uuid> {
    numbers().map(|number| uuid::Builder::from_random_bytes(number.to_be_bytes()).into_uuid()).collect()
}

fn ulids() -> Vec<Ulid> {
    numbers().map(|number| Ulid::from_bytes(number.to_be_bytes())).collect()
}

fn ferroids() -> Vec<ULID> {
    numbers().map(ULID::from_raw).collect()
}

fn xids() -> Vec<xid::Id> {
    numbers().map(|number| xid::Id::from_bytes(&number.to_be_bytes()[..12]).unwrap()).collect()
}

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

/// Does something with each of some values; the time is that of one.
fn each<T, R>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, values: &[T], work: impl Fn(&T) -> R) {
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            for value in values {
                black_box(work(black_box(value)));
            }
        });
    });
}

fn write(c: &mut Criterion) {
    let mut group = c.benchmark_group("ID to text");
    each(&mut group, "sno", &snos(), |id| id.to_text());
    each(&mut group, "uuid", &uuids(), |id| {
        let mut buffer = Uuid::encode_buffer();
        id.as_hyphenated().encode_lower(&mut buffer);
        buffer
    });
    each(&mut group, "ulid", &ulids(), |id| {
        let mut buffer = [0; ulid::ULID_LEN];
        id.array_to_str(&mut buffer);
        buffer
    });
    each(&mut group, "ferroid", &ferroids(), |id| id.encode());
    each(&mut group, "xid, allocates", &xids(), |id| id.to_string());
    group.finish();
}

fn read(c: &mut Criterion) {
    fn texts<T: ToString>(ids: &[T]) -> Vec<String> {
        ids.iter().map(T::to_string).collect()
    }
    let mut group = c.benchmark_group("text to ID, validated");
    each(&mut group, "sno", &texts(&snos()), |text| Sno::parse_bytes(text.as_bytes()));
    each(&mut group, "uuid", &texts(&uuids()), |text| Uuid::parse_str(text));
    each(&mut group, "ulid", &texts(&ulids()), |text| Ulid::from_string(text));
    each(&mut group, "ferroid", &texts(&ferroids()), |text| ULID::decode(text.as_str()));
    each(&mut group, "xid", &texts(&xids()), |text| text.parse::<xid::Id>());
    group.finish();
}

fn compare(c: &mut Criterion) {
    /// Each value with its neighbour.
    fn pairs<T: Copy>(values: &[T]) -> Vec<(T, T)> {
        values.iter().copied().zip(values.iter().copied().cycle().skip(1)).collect()
    }
    let mut group = c.benchmark_group("comparison");
    each(&mut group, "sno", &pairs(&snos()), |(a, b)| a.cmp(b));
    each(&mut group, "uuid", &pairs(&uuids()), |(a, b)| a.cmp(b));
    each(&mut group, "ulid", &pairs(&ulids()), |(a, b)| a.cmp(b));
    each(&mut group, "ferroid", &pairs(&ferroids()), |(a, b)| a.cmp(b));
    each(&mut group, "xid", &pairs(&xids()), |(a, b)| a.cmp(b));
    group.finish();
}

criterion_group!(benches, generate, write, read, compare);
criterion_main!(benches);
