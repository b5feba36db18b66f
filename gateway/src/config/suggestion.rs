//! What somebody probably meant when a name does not exist.

/// The candidate that `name` was probably meant to be, if any is near enough to say so.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Right name, wrong section: no edit distance finds that.
    let last = |key: &str| key.rsplit('.').next().map(str::to_owned);
    let nearness = |candidate: &str| {
        let distance = distance(name, candidate);
        if candidate != name && last(candidate) == last(name) { distance.min(1) } else { distance }
    };
    let tolerated = 1 + name.len() / 6;
    candidates
        .map(|candidate| (nearness(candidate), candidate))
        .filter(|(near, _)| *near <= tolerated)
        .min()
        .map(|(_, key)| key)
}

/// Insertions, deletions and replacements that lead from one to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut costs: Vec<usize> = (0..=to.len()).collect();
    for (row, from_letter) in from.chars().enumerate() {
        let mut diagonal = row;
        let mut left = row + 1;
        if let Some(first) = costs.first_mut() {
            *first = left;
        }
        for (cost, to_letter) in costs.iter_mut().skip(1).zip(&to) {
            let replaced = diagonal + usize::from(from_letter != *to_letter);
            diagonal = *cost;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cost = left;
        }
    }
    costs.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let keys = ["listen.amqp", "listen.mqtt", "data_dir", "limits.connections_max"];
        assert_eq!(nearest("listen.ampq", keys.into_iter()), Some("listen.amqp"));
        assert_eq!(nearest("limits.connection_max", keys.into_iter()), Some("limits.connections_max"));
        assert_eq!(nearest("listen.data_dir", keys.into_iter()), Some("data_dir"));
        assert_eq!(nearest("colour", keys.into_iter()), None);
    }
}
