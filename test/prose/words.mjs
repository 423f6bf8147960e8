// Words and phrases that the project's prose avoids, each with the terms to use instead.
//
// Components of a program are not persons, and a vague pronoun hides the actor. The terms to use
// are those of the glossary in ARCHITECTURE.md.

/** Each row: a pattern of whole words, in any case, and the advice that a finding prints. */
export const WORDS = [
  ['tells?|told|telling', 'say what happens: reports, returns, passes, logs, notifies'],
  ['asks?|asked|asking', 'say what happens: requests, calls, queries, reads'],
  ['mends?|mended|mending', 'repairs, rebuilds, fixes'],
  ['whoever|whomever', 'name it: the client, the caller, the reader'],
  ['nobody|somebody', 'name it: no client, another process, the operator'],
  ['anew', 'again, from scratch'],
  ['all else', 'name the rest: any other request'],
  ['bury|buries|buried', 'removes, reaps'],
  ['what there is|what is there', 'name it: the existing rows, the stored blocks'],
  ['lends?|lent|gives? back', 'leases, returns'],
  ['goes on|go on|for ever', 'continues, forever'],
  ['(?:client|reader|caller|chain) (?:has|had|have|may have) gone', 'has disconnected, was unwound'],
  ['those who|who (?:waits|reads|comes|wants)|whose turn', 'name it: the callers, the listeners, the next request'],
  ['beside each other', 'next to each other'],
  ['rooms|the room|(?:each|every|this|that|which) room', 'component, crate, module'],
]

/** Columns that a line of a comment or of a page's prose may have. */
export const COLUMNS_MAX = 100

/** Characters that the name of a test may have. */
export const TEST_NAME_MAX = 60
