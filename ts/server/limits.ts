// Bounds of the listeners that are no setting.

/** Longest time for a request to the metrics page to arrive, in milliseconds. */
export const REQUEST_READ_MS_MAX = 30_000

/** How many times within a connection's shortest time limit the limits are looked at. */
export const TIMEOUT_CHECKS = 10

/** Longest time between two looks at the time limits of connections, in milliseconds. */
export const TIMEOUT_CHECK_MS_MAX = 1000

/** How long an idle connection to the metrics page is kept, in milliseconds. */
export const KEEP_ALIVE_MS = 120_000

/** Bytes of a refused body that are read and discarded, so that the client receives the refusal. */
export const REFUSED_BODY_BYTES_MAX = 64 * 1024 * 1024

/** How long a scrape that is under way may take once the node stops, in milliseconds. */
export const STOP_MS_MAX = 5000

/**
 * Bytes of an answer that may wait in a connection before its producer waits too: enough that
 * producing and sending overlap.
 */
export const SEND_AHEAD_BYTES = 256 * 1024

/**
 * Bytes of a streamed answer that the system takes for a client without room for them. A client
 * that reads nothing costs the making of so much, and of what its own system takes.
 */
export const UNSENT_BYTES_MAX = 256 * 1024

/** Connections to the scrape page: more than one or two servers never scrape a node. */
export const METRICS_CONNECTIONS_MAX = 32

/**
 * Total size of a WebSocket connection's waiting messages beyond which the connection is no longer
 * read, in bytes. Each message counts as `MESSAGE_COST` more, so that empty ones count too.
 */
export const WAITING_MESSAGES_MAX = 64 * 1024

/**
 * Largest request with characters beyond ASCII, in bytes: with one of them all characters of a
 * text take two bytes, and those of parsed values again. Larger requests are hexadecimal data. The
 * default of `evm.max_request_body_bytes`.
 */
export const WIDE_TEXT_BYTES_MAX = 5 * 1024 * 1024

/** What a waiting message takes beside its text, in bytes. */
export const MESSAGE_COST = 64

/** Messages of one WebSocket connection that are served before other connections have a turn. */
export const MESSAGES_AT_ONCE_MAX = 64

/** How long a client that is sent away has for its goodbye, in milliseconds. */
export const GOODBYE_MS = 1000

/** A baked answer of at most so many bytes that is not stored in gzip goes out plain. */
export const BAKED_PLAIN_BYTES_MAX = 32 * 1024

/**
 * Baked answers that are stored in gzip go out so from this part of the threshold of compression
 * on: sending them so takes less work than inflating them.
 */
export const STORED_GZIP_PART = 1 / 64

/** Subscriptions of one WebSocket connection. */
export const SUBSCRIPTIONS_MAX = 1024

/** Those of them that may have a trace under way. */
export const FEEDS_MAX = 8
