// Pictures of a few lines each.
import type { JSX } from 'preact'

const line = (d: string) => (): JSX.Element => (
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={d} />
  </svg>
)

export const SearchIcon = line('M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4')
export const SunIcon = line(
  'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5',
)
export const MoonIcon = line('M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z')
export const CopyIcon = line('M9 9h11v11H9zM5 15H4V4h11v1')
export const DoneIcon = line('M4 12l6 6L20 6')
export const ArrowIcon = line('M9 5l7 7-7 7')
export const KeysIcon = line('M9.5 9a2.5 2.5 0 1 1 3.5 2.3c-.8.4-1 .9-1 1.7M12 17h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z')
export const TagIcon = line('M3 12V4h8l9 9-8 8zM7.5 7.5h.01')
export const CloseIcon = line('M5 5l14 14M19 5L5 19')

/** The mark of the program: a flame graph. */
export const Mark = (): JSX.Element => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="#c2410c" />
    <rect x="5" y="21" width="22" height="5" rx="1" fill="#fff" />
    <rect x="8" y="14" width="15" height="5" rx="1" fill="#fed7aa" />
    <rect x="11" y="7" width="7" height="5" rx="1" fill="#fdba74" />
  </svg>
)
