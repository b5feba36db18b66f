//! Latencies in buckets that are 1/32 of their value wide: exact enough for a percentile, and merging is adding.

/// Buckets per doubling.
const STEPS: u64 = 32;

/// A histogram of nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; bucket_of(u64::MAX) + 1], count: 0 }
    }
}

impl Histogram {
    /// Adds one value.
    pub fn add(&mut self, value_ns: u64) {
        if let Some(bucket) = self.buckets.get_mut(bucket_of(value_ns)) {
            *bucket += 1;
            self.count += 1;
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *ours += theirs;
        }
        self.count += other.count;
    }

    /// The value that `per_mille` of a thousand values do not exceed, in nanoseconds; 0 without values.
    #[must_use]
    pub fn percentile_ns(&self, per_mille: u64) -> u64 {
        let wanted = (self.count * per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return top_of(bucket);
            }
        }
        0
    }
}

/// Values below [`STEPS`] have a bucket each; above, each doubling has that many.
fn bucket_of(value: u64) -> usize {
    let bucket = if value < STEPS {
        value
    } else {
        let shift = u64::from(value.ilog2() - STEPS.ilog2());
        shift * STEPS + (value >> shift)
    };
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

/// The largest value of a bucket.
fn top_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    let mantissa = bucket - shift * STEPS;
    ((mantissa + 1) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for bucket in 0..bucket_of(u64::MAX) {
            assert_eq!(bucket_of(top_of(bucket)), bucket);
            assert_eq!(bucket_of(top_of(bucket) + 1), bucket + 1);
        }
        assert_eq!(top_of(bucket_of(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_are_within_a_step() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile_ns(500), 0);
        for value in 1..=1_000_000 {
            histogram.add(value);
        }
        for (per_mille, exact) in [(500, 500_000), (990, 990_000), (1_000, 1_000_000)] {
            let value = histogram.percentile_ns(per_mille);
            assert!(value >= exact && value <= exact + exact / 31, "{per_mille}: {value}");
        }
        let mut doubled = histogram.clone();
        doubled.merge(&histogram);
        assert_eq!(doubled.percentile_ns(500), histogram.percentile_ns(500));
    }
}
