//! Pages of lists, as the SDK's `types/query/pagination.go` has them: by key or by offset.

use super::QueryError;
use crate::proto::{PageRequest, PageResponse};

/// Entries of a page where the request does not say.
const PAGE_DEFAULT: u64 = 100;
/// Most entries of a page. A request for more gets as many, and the key of the next page.
pub const PAGE_MAX: u64 = 1000;
/// Entries of one call of the contract.
const CHUNK: u64 = 100;
/// Most entries that one query looks at.
const SCAN_MAX: u64 = 100_000;

/// A page of what is kept of a list. `read` gives up to so many entries from a place on, and fewer
/// only at the end. The key of a page
/// is the place of its first entry.
pub(super) fn page<T>(
    request: Option<&PageRequest>,
    read: impl Fn(u64, u64) -> Result<Vec<T>, QueryError>,
    keep: impl Fn(&T) -> bool,
) -> Result<(Vec<T>, PageResponse), QueryError> {
    let asked = request.cloned().unwrap_or_default();
    if asked.offset > 0 && !asked.key.is_empty() {
        return Err(QueryError::invalid("invalid request, either offset or key is expected, got both"));
    }
    // Without a limit the SDK counts the whole list.
    let counts = asked.count_total || asked.limit == 0;
    let limit = if asked.limit == 0 { PAGE_DEFAULT } else { asked.limit.min(PAGE_MAX) };
    let start = match asked.key.as_slice() {
        [] => None,
        key => Some(u64::from_be_bytes(
            key.try_into().map_err(|_| QueryError::invalid("invalid pagination key"))?,
        )),
    };
    let counts = counts && start.is_none();
    if asked.reverse {
        let all = scan(&read, &keep, 0, u64::MAX)?;
        let total = all.len() as u64;
        let descending = all.into_iter().rev().skip_while(|(at, _)| start.is_some_and(|start| *at > start));
        return Ok(take_page(descending.skip(skipped(asked.offset)), limit, if counts { total } else { 0 }));
    }
    let wanted = if counts { u64::MAX } else { asked.offset.saturating_add(limit).saturating_add(1) };
    let found = scan(&read, &keep, start.unwrap_or(0), wanted)?;
    let total = if counts { found.len() as u64 } else { 0 };
    Ok(take_page(found.into_iter().skip(skipped(asked.offset)), limit, total))
}

fn skipped(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// The first entries, and the place of the one behind them.
fn take_page<T>(
    mut entries: impl Iterator<Item = (u64, T)>,
    limit: u64,
    total: u64,
) -> (Vec<T>, PageResponse) {
    let page = entries.by_ref().take(skipped(limit)).map(|(_, entry)| entry).collect();
    let next_key = entries.next().map(|(at, _)| at.to_be_bytes().to_vec()).unwrap_or_default();
    (page, PageResponse { next_key, total })
}

/// Up to `wanted` entries that are kept, with their places.
fn scan<T>(
    read: &impl Fn(u64, u64) -> Result<Vec<T>, QueryError>,
    keep: &impl Fn(&T) -> bool,
    start: u64,
    wanted: u64,
) -> Result<Vec<(u64, T)>, QueryError> {
    let mut found = Vec::new();
    let mut at = start;
    loop {
        let n = CHUNK.min(wanted.saturating_sub(found.len() as u64));
        if n == 0 {
            return Ok(found);
        }
        if at - start >= SCAN_MAX {
            return Err(QueryError::invalid(format!(
                "the list has more than {SCAN_MAX} entries: request pages by key, without count_total and reverse"
            )));
        }
        let chunk = read(at, n)?;
        let is_last = (chunk.len() as u64) < n;
        for entry in chunk {
            if keep(&entry) {
                found.push((at, entry));
            }
            at = at.saturating_add(1);
        }
        if is_last {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(from: u64, n: u64) -> Result<Vec<u64>, QueryError> {
        Ok((from..250.min(from.saturating_add(n))).collect())
    }

    fn ask(request: PageRequest) -> (Vec<u64>, PageResponse) {
        page(Some(&request), list, |entry| entry % 2 == 0).unwrap()
    }

    #[test]
    fn pages_by_key_tile_the_list() {
        let (mut seen, mut key) = (Vec::new(), Vec::new());
        loop {
            let (entries, next) = ask(PageRequest { key, limit: 7, ..Default::default() });
            assert_eq!(next.total, 0);
            seen.extend(entries);
            key = next.next_key;
            if key.is_empty() {
                break;
            }
        }
        assert_eq!(seen, (0..250).step_by(2).collect::<Vec<u64>>());
    }

    #[test]
    fn offsets_totals_and_the_other_order_are_those_of_the_sdk() {
        let (entries, next) =
            ask(PageRequest { offset: 3, limit: 2, count_total: true, ..Default::default() });
        assert_eq!((entries, next.total), (vec![6, 8], 125));
        assert_eq!(next.next_key, 10u64.to_be_bytes());
        let (entries, next) = page(None, list, |_| true).unwrap();
        assert_eq!((entries.len(), next.total), (100, 250));
        let (entries, next) = ask(PageRequest { reverse: true, limit: 2, ..Default::default() });
        assert_eq!((entries, next.total), (vec![248, 246], 0));
        let again = PageRequest { reverse: true, limit: 2, key: next.next_key, ..Default::default() };
        assert_eq!(ask(again).0, [244, 242]);
        let all = PageRequest { limit: u64::MAX, ..Default::default() };
        assert_eq!(ask(all).0.len(), 125);
    }

    #[test]
    fn a_page_is_asked_for_in_one_way() {
        let both = PageRequest { key: vec![0; 8], offset: 1, ..Default::default() };
        let error = page(Some(&both), list, |_| true).unwrap_err();
        assert_eq!(error.to_string(), "invalid request, either offset or key is expected, got both");
        let short = PageRequest { key: vec![0; 3], ..Default::default() };
        assert!(page(Some(&short), list, |_| true).is_err());
    }
}
