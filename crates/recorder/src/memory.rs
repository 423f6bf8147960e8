//! Copies of memory as go-ethereum's tracers take them: before the instruction has expanded it
//! (eth/tracers/internal/util.go: GetMemoryCopyPadded).

use alloy_primitives::U256;

/// Most bytes beyond the end of memory that a copy may name; larger ones are left out.
const MAX_PADDING_BYTES: i64 = 1024 * 1024;

/// Copies memory from `offset` on, with zeros beyond its end. `None` if too much of the range lies
/// beyond. Of offset and size only the low 64 bits count, as signed numbers.
pub fn copy_padded(memory: &[u8], offset: U256, size: U256) -> Option<Vec<u8>> {
    let (offset, size) = (offset.as_limbs()[0] as i64, size.as_limbs()[0] as i64);
    if offset < 0 || size < 0 {
        return None;
    }
    let Some(end) = offset.checked_add(size) else {
        // The reference takes a sum that overflows for a range within memory, and finds nothing
        // where the range begins beyond its end.
        return (offset >= memory.len() as i64).then(Vec::new);
    };
    if end.saturating_sub(memory.len() as i64) > MAX_PADDING_BYTES {
        return None;
    }
    let from = usize::try_from(offset).ok()?.min(memory.len());
    let to = usize::try_from(end).ok()?.min(memory.len());
    let mut copy = Vec::with_capacity(size as usize);
    copy.extend_from_slice(&memory[from..to]);
    copy.resize(size as usize, 0);
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_end_there_are_zeros_up_to_a_limit() {
        let copy = |offset: u64, size: u64| copy_padded(&[1, 2, 3], U256::from(offset), U256::from(size));
        assert_eq!(copy(1, 2), Some(vec![2, 3]));
        assert_eq!(copy(2, 3), Some(vec![3, 0, 0]));
        assert_eq!(copy(9, 2), Some(vec![0, 0]));
        assert_eq!(copy(0, 0), Some(vec![]));
        assert_eq!(copy(0, 3 + MAX_PADDING_BYTES as u64).map(|c| c.len()), Some(3 + (1 << 20)));
        assert_eq!(copy(0, 4 + MAX_PADDING_BYTES as u64), None);
        assert_eq!(copy(u64::MAX, 1), None);
        assert_eq!(copy(i64::MAX as u64, 0), None);
        assert_eq!(copy(i64::MAX as u64, 1), Some(vec![]));
        assert_eq!(copy(2, i64::MAX as u64), None);
    }
}
