//! Keys of given times, of every kind: for sorting, looking up and copying.

use std::io::Write;
use std::time::{Duration, SystemTime};

use sno_core::{Fields, Sno, Tick};
use sno_tests::postgres::Client;
use ulid::Ulid;

/// The kinds of key that hold the same moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sno,
    UuidV4,
    UuidV7,
    Bigint,
    UlidText,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Sno, Self::UuidV4, Self::UuidV7, Self::Bigint, Self::UlidText];

    /// The type of the column.
    pub(crate) fn sql_type(self) -> &'static str {
        match self {
            Self::Sno => "sno",
            Self::UuidV4 | Self::UuidV7 => "uuid",
            Self::Bigint => "bigint",
            Self::UlidText => "text",
        }
    }

    /// As people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sno => "sno",
            Self::UuidV4 => "uuid v4",
            Self::UuidV7 => "uuid v7",
            Self::Bigint => "bigint",
            Self::UlidText => "text ULID",
        }
    }

    /// What a table of such keys is called.
    pub(crate) fn table(self) -> String {
        format!("{}_keys", self.name().replace(' ', "_").to_lowercase())
    }
}

/// When keys of a fixed time begin: 2023-01-01.
pub(crate) fn since() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_672_531_200)
}

/// Moments between two times, in random order: each with what tells its keys apart.
pub(crate) struct Moments(Vec<Moment>);

#[derive(Clone, Copy)]
struct Moment {
    millis: u64,
    /// Its place in the order of time.
    number: u64,
    partition: u16,
    sequence: u16,
    random: u128,
}

impl Moments {
    /// So many moments from `since` on, the same for the same arguments; IDs as eight generators would have made
    /// them.
    pub(crate) fn new(count: usize, since: SystemTime, span: Duration) -> Self {
        let mut random = fastrand::Rng::with_seed(count as u64);
        let since =
            since.duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970").as_millis() as u64;
        let mut times: Vec<u64> =
            (0..count).map(|_| since + random.u64(0..span.as_millis() as u64)).collect();
        times.sort_unstable();
        let (mut tick, mut sequences) = (0, [0_u16; 8]);
        let mut moments: Vec<Moment> = times
            .into_iter()
            .zip(1..)
            .map(|(millis, number)| {
                if tick != millis / 4 {
                    (tick, sequences) = (millis / 4, [0; 8]);
                }
                let generator = random.usize(0..8);
                let sequence = sequences[generator];
                sequences[generator] += 1;
                let partition = 42 << 8 | generator as u16;
                Moment { millis, number, partition, sequence, random: random.u128(..) }
            })
            .collect();
        random.shuffle(&mut moments);
        Self(moments)
    }

    /// Makes the table `name (id, payload)`, unlogged, with these moments as keys of a kind in their random order,
    /// vacuumed and analyzed.
    pub(crate) fn load(
        &self,
        client: &mut Client,
        name: &str,
        kind: Kind,
    ) -> Result<(), Box<dyn std::error::Error>> {
        client.batch_execute(&format!(
            "DROP TABLE IF EXISTS {name};
             CREATE UNLOGGED TABLE {name} (id {} NOT NULL, payload integer NOT NULL)",
            kind.sql_type()
        ))?;
        let mut copy = client.copy_in(&format!("COPY {name} FROM STDIN (FORMAT binary)"))?;
        let mut buffer = Vec::with_capacity(1 << 16);
        // The file format of binary COPY: a header, rows of counted columns, an end.
        buffer.extend(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
        for moment in &self.0 {
            buffer.extend(2_i16.to_be_bytes());
            moment.write(kind, &mut buffer);
            buffer.extend(4_i32.to_be_bytes());
            buffer.extend((moment.number as i32).to_be_bytes());
            if buffer.len() > (1 << 16) - 100 {
                copy.write_all(&buffer)?;
                buffer.clear();
            }
        }
        buffer.extend((-1_i16).to_be_bytes());
        copy.write_all(&buffer)?;
        copy.finish()?;
        client.batch_execute(&format!("VACUUM ANALYZE {name}"))?;
        Ok(())
    }
}

impl Moment {
    /// The key as a binary field: its length, its bytes.
    fn write(&self, kind: Kind, buffer: &mut Vec<u8>) {
        let mut field = |bytes: &[u8]| {
            buffer.extend((bytes.len() as i32).to_be_bytes());
            buffer.extend(bytes);
        };
        match kind {
            Kind::Sno => field(self.sno().as_bytes()),
            Kind::UuidV4 => {
                field(uuid::Builder::from_random_bytes(self.random.to_be_bytes()).as_uuid().as_bytes());
            }
            Kind::UuidV7 => {
                let random = self.random.to_be_bytes()[..10].try_into().expect("ten of sixteen bytes");
                field(uuid::Builder::from_unix_timestamp_millis(self.millis, &random).as_uuid().as_bytes());
            }
            Kind::Bigint => field(&self.number.to_be_bytes()),
            Kind::UlidText => field(Ulid::from_parts(self.millis, self.random).to_string().as_bytes()),
        }
    }

    fn sno(&self) -> Sno {
        Sno::from(Fields {
            tick: Tick::floor(self.millis as i64 * 1000).expect("a time of the epoch"),
            tick_tock: false,
            metabyte: 1,
            partition: self.partition,
            sequence: self.sequence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_but_one_sort_by_time() {
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut moments = Moments::new(1000, since, Duration::from_secs(1000)).0;
        assert!(!moments.is_sorted_by_key(|moment| moment.number), "in random order");
        moments.sort_by_key(|moment| moment.number);
        for kind in Kind::ALL {
            let keys: Vec<Vec<u8>> = moments
                .iter()
                // Within a millisecond, chance decides about the order of the others.
                .filter(|moment| moment.number % 50 == 0)
                .map(|moment| {
                    let mut key = Vec::new();
                    moment.write(kind, &mut key);
                    key
                })
                .collect();
            assert_eq!(keys.is_sorted(), kind != Kind::UuidV4, "{kind:?}");
        }
        let mut ids: Vec<_> = moments.iter().map(Moment::sno).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "all IDs differ");
    }
}
