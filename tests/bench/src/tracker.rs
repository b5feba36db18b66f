//! Which messages came: a bit per number, so that a lost or doubled one is seen at any rate.

/// The numbers that one consumer, or all together, received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracker {
    words: Vec<u64>,
    received: u64,
    doubled: u64,
}

impl Tracker {
    /// Enters a number.
    pub(crate) fn enter(&mut self, number: u64) {
        let word = usize::try_from(number / 64).unwrap_or(usize::MAX);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        self.doubled += u64::from(self.words[word] & bit != 0);
        self.words[word] |= bit;
        self.received += 1;
    }

    /// Adds what another consumer received. Numbers that both have count as doubled.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.doubled += other.doubled;
        self.received += other.received;
        for (ours, theirs) in self.words.iter_mut().zip(&other.words) {
            self.doubled += u64::from((*ours & theirs).count_ones());
            *ours |= theirs;
        }
    }

    /// Says what is wrong when not exactly the numbers 0 to `sent` - 1 came, each once.
    ///
    /// # Errors
    /// When messages were lost or doubled.
    pub(crate) fn check(&self, sent: u64) -> Result<(), String> {
        let distinct: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        if self.doubled > 0 || distinct != sent {
            let lost = sent.saturating_sub(distinct);
            return Err(format!("{sent} sent, {} received: {lost} lost, {} doubled", self.received, self.doubled));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64]) -> Tracker {
        let mut tracker = Tracker::default();
        for number in numbers {
            tracker.enter(*number);
        }
        tracker
    }

    #[test]
    fn each_number_once_is_right() {
        let mut tracker = of(&[0, 2, 64]);
        tracker.merge(&of(&(0..130).filter(|number| ![0, 2, 64].contains(number)).collect::<Vec<u64>>()));
        assert_eq!(tracker.check(130), Ok(()));
    }

    #[test]
    fn a_lost_or_doubled_number_is_seen() {
        assert!(of(&[0, 2]).check(3).is_err());
        assert!(of(&[0, 1, 1]).check(2).is_err());
        let mut tracker = of(&[0, 1]);
        tracker.merge(&of(&[1, 2]));
        assert!(tracker.check(3).is_err());
    }
}
