// Kinds of messages between the core and the script host, and the part of a chunk's header that
// both use.

/** Kinds of messages from the parent. */
export const FROM_PARENT = { begin: 1, steps: 2, end: 3, state: 4, stateFailed: 5, stop: 6 } as const
/** Kinds of messages to the parent. */
export const TO_PARENT = { confined: 9, ready: 10, read: 11, loaded: 12, result: 13, failed: 14, needs: 15, done: 16 } as const

/** Offset of the flags in the header of a chunk, and the flag that requests DONE after it. */
export const CHUNK_FLAGS_AT = 20
export const ACKNOWLEDGE = 1
