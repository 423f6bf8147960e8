// Words and phrases that the project's prose avoids, each with what to write in its place.
//
// Components of a program do not tell, ask or mend each other, and a pronoun such as "whoever" hides who does something. The terms
// to use are those of the glossary in ARCHITECTURE.md.

/** Each row: a pattern (whole words, any case) and the advice that a finding prints. */
export const WORDS = [
  ['tells?|told|telling', 'say what happens: reports, returns, passes, logs, notifies'],
  ['asks?|asked|asking', 'say what happens: requests, calls, queries, reads'],
  ['askers?', 'name it: the caller, the client'],
  ['mends?|mended|mending', 'repairs, rebuilds'],
  ['whoever|whomever', 'name it: the client, the caller, the reader'],
  ['nobody|somebody', 'name it: no client, another process, the operator'],
  ['anew', 'again, from scratch'],
  ['as it lies|lies? beside|lying beside', 'is stored next to'],
  ['is laid|are laid', 'is stored, is placed'],
  ['stands? for nothing|says? nothing of', 'say what is absent'],
  ['all else', 'name the rest: any other request'],
  ['bury|buries|buried', 'removes, reaps'],
  ['what is there|what there is', 'name it: the existing rows, the stored blocks'],
  ['where there is none|where there are none', 'if no X exists'],
  ['lends?|lent|gives? back', 'leases, returns'],
  ['rooms?', 'component, crate, module, capacity'],
]
