//! How figures are written: decimals without floats, ratios.

/// Bytes of a mebibyte.
pub(crate) const MIB: u64 = 1024 * 1024;

/// `value / unit` with three decimals.
pub(crate) fn decimal(value: u64, unit: u64) -> String {
    format!("{}.{:03}", value / unit, value % unit * 1_000 / unit)
}

/// `ours / theirs` with three decimals.
pub(crate) fn ratio(ours: u64, theirs: u64) -> String {
    if theirs == 0 { "?".to_owned() } else { format!("{} x", decimal(ours, theirs)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_decimals() {
        assert_eq!(ratio(3, 2), "1.500 x");
        assert_eq!(ratio(1, 16), "0.062 x");
        assert_eq!(ratio(1, 0), "?");
    }
}
