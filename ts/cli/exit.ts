// The exit codes of the program, once: for the code, for docs/commands.md and for systemd's unit
// file.

/** Exit codes by name. */
export const EXIT = { done: 0, failed: 1, usage: 2, cannotStart: 3, cutShort: 4, stopped: 130 } as const

/** What each code means, for readers. */
export const EXIT_TABLE: readonly { readonly code: number; readonly meaning: string }[] = [
  {
    code: EXIT.done,
    meaning: 'The work is done; for `start`, `dev` and `follow`: the node received a signal to stop and closed its stores.',
  },
  {
    code: EXIT.failed,
    meaning:
      'The work failed, or a check found something: `status` without a node, `db verify` and `db scrub` with damage. A later try may succeed.',
  },
  { code: EXIT.usage, meaning: 'The command line or the settings cannot be used. Nothing was done.' },
  {
    code: EXIT.cannotStart,
    meaning:
      '`start`, `dev` or `follow` cannot run on this data directory as it is: it has no chain yet, or another chain; its genesis cannot be used; its format is not one of this version; it is damaged; or another process has it open. Starting again does not help. For `trace` and `simulate` with `--check`: a transaction failed.',
  },
  {
    code: EXIT.cutShort,
    meaning:
      '`start`, `dev` or `follow` received a signal to stop, and its main thread was stuck or the stop did not end: a watchdog thread flushed and closed the stores and ended the process. Standard error says why, and whether the stores were closed. What was acknowledged is kept; answers under way were cut off, and files that are written at the end of a run (`--dump-state`) are missing.',
  },
  {
    code: EXIT.stopped,
    meaning: 'A signal stopped the work before its end; for a node: a second signal, which ends it without closing its stores.',
  },
]
