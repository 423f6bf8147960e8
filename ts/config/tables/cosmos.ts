// [rest] and [grpc]: listeners of a node under CometBFT for clients of the Cosmos SDK. Their limits
// are those of [evm].
import { boolean, integer } from '../parsers.ts'
import { host, port, setting } from './shared.ts'

/** Settings of these listeners. */
export const COSMOS = {
  'rest.enabled': setting({
    kind: boolean,
    default: true,
    doc: 'Whether a node under CometBFT serves the REST paths of the Cosmos SDK. Connections, rates, bodies, tokens, CORS and host names are those of [evm].',
  }),
  'rest.host': setting({ kind: host, default: '127.0.0.1', doc: 'Address that the REST listener binds.' }),
  'rest.port': setting({ kind: port, default: 1317, doc: 'Port of REST. 0 takes a free port.' }),
  'rest.max_page': setting({
    kind: integer(1, 1000),
    default: 1000,
    unit: 'entries',
    doc: 'Maximum number of entries in one page over REST (pagination.limit); a larger limit is lowered to it, and next_key is the start of the next page.',
  }),
  'grpc.enabled': setting({
    kind: boolean,
    default: true,
    doc: 'Whether a node under CometBFT serves the queries of the Cosmos SDK over gRPC, without TLS. Connections, rates, bodies and tokens (metadata authorization) are those of [evm].',
  }),
  'grpc.host': setting({ kind: host, default: '127.0.0.1', doc: 'Address that the gRPC listener binds.' }),
  'grpc.port': setting({ kind: port, default: 9090, doc: 'Port of gRPC. 0 takes a free port.' }),
} as const
