// [engine]: the listener of the Engine API, over which a consensus client drives the node.
import { boolean, offAt, or, text } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { GIB, HOUR, host, KIB, MIB, MINUTE, port, setting } from './shared.ts'

/** Settings of the Engine API. */
export const ENGINE = {
  'engine.enabled': setting({
    kind: boolean,
    default: false,
    doc: 'Whether hearth start serves the Engine API: a consensus client then selects the head, and this node executes and builds blocks for it.',
  }),
  'engine.host': setting({ kind: host, default: '127.0.0.1', doc: 'Address of the listener of the Engine API.' }),
  'engine.port': setting({
    kind: port,
    default: 8551,
    doc: 'Port of the Engine API, over HTTP and over WebSocket by upgrade. 0 takes a free port. The public ports never have methods of engine_*.',
  }),
  'engine.jwt_secret_file': setting({
    kind: or('auto', text('the path of a file', /^\S.*$/)),
    default: 'auto' as string,
    doc: 'File with the secret of 32 bytes in hex that the consensus client uses too: every request needs a JWT that is signed with it (HS256) and whose iat is within 60 seconds. auto is config/jwt.hex in the data directory. A missing file is created, readable by its owner only.',
  }),
  'engine.max_request_body_bytes': setting({
    kind: bytes(KIB, GIB),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of a request of the Engine API. Two such requests may be in memory at the same time.',
  }),
  'engine.ready_max_silence': setting({
    kind: offAt(0, duration(0, HOUR)),
    default: 2 * MINUTE,
    unit: 'ms',
    doc: '/ready returns 503 while the last fork choice of the consensus client is older than this, and before the first one; off disables the check.',
  }),
} as const
