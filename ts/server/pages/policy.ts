// Headers of the explorer: what its page may load and which origins it may reach (Content Security
// Policy Level 3, Trusted Types).

/**
 * The policy. `debugOrigin` is the listener of debug methods, where that is another one than the
 * page's.
 */
export const contentPolicy = (debugOrigin: string | undefined): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${debugOrigin === undefined ? '' : ` ${debugOrigin}`}`,
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types hearth',
  ].join('; ')

/** Headers of every answer of the explorer. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
