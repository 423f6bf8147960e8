// gRPC: the same queries in protobuf. Bytes go through as they are, so no generated code is needed.
import net from 'node:net'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { CoreError } from '../core/error.ts'
import { type Answers, HEIGHT_HEADER, heightOf } from './answers.ts'
import { CODES, QueryFailure } from './failure.ts'
import type { Gate } from './gate.ts'
import { type CosmosMeter, countQuery, QUERIES, type Query } from './queries.ts'

/** Streams of one connection at a time. */
const STREAMS_MAX = 100

/** What the listener needs to know. */
export interface GrpcOptions {
  readonly answers: Answers
  readonly gate: Gate
  readonly meter: CosmosMeter
  /** Largest request, in bytes. */
  readonly maxBytes: number
  /** How long a connection without a request is kept, in milliseconds. */
  readonly idleMs: number
  /** Takes failures that are defects of this program. */
  readonly report: (e: unknown) => void
}

/**
 * A listener of gRPC on connections that `net` takes, so that limits of connections hold here too.
 */
export interface GrpcServer {
  readonly server: net.Server
  /** Lets answers under way finish for so many milliseconds, then closes what is left. */
  readonly stop: (withinMs: number) => Promise<void>
}

const asBytes = (bytes: Buffer): Buffer => bytes

type UnaryCall = ServerUnaryCall<Buffer, Buffer>

const textOf = (call: UnaryCall, name: string): string | undefined => call.metadata.get(name)[0]?.toString()

/** The client of a call, by address; a proxy says whose it is as over HTTP. */
function clientOf(gate: Gate, call: UnaryCall): string {
  const peer = call.getPeer()
  const address = /^(?:ipv[46]:)?(.*):\d+$/.exec(peer)?.[1] ?? peer
  const forwarded = textOf(call, 'x-forwarded-for')
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return gate.clientOf({ headers, socket: { remoteAddress: address.replace(/^\[(.*)\]$/, '$1') } as net.Socket })
}

function failureOf(e: unknown, report: GrpcOptions['report']): QueryFailure {
  if (e instanceof QueryFailure) return e
  if (e instanceof CoreError && e.kind === 'busy') return new QueryFailure(CODES.resourceExhausted, e.public ?? e.message)
  report(e)
  return new QueryFailure(CODES.internal, 'internal error')
}

/** The metadata that says which height an answer is from. */
function heightMetadata(height: string | undefined): Metadata {
  const metadata = new Metadata()
  if (height !== undefined) metadata.set(HEIGHT_HEADER, height)
  return metadata
}

/** Serves one query. */
const handler =
  ({ answers, gate, meter, report }: GrpcOptions, query: Query) =>
  (call: UnaryCall, callback: sendUnaryData<Buffer>): void => {
    const run = async (): Promise<void> => {
      await gate.check(clientOf(gate, call), textOf(call, 'authorization'))
      const { body, height } = await answers.protobuf(query, call.request, heightOf(textOf(call, HEIGHT_HEADER)))
      countQuery(meter, 'grpc', query.name, CODES.ok)
      // Clients of the SDK look for the height in the headers.
      if (height !== undefined) call.sendMetadata(heightMetadata(height))
      callback(null, Buffer.from(body))
    }
    run().catch((e: unknown) => {
      const { code, message, height } = failureOf(e, report)
      countQuery(meter, 'grpc', query.name, code)
      callback({ code, details: message, metadata: heightMetadata(height) })
    })
  }

/** Makes what serves gRPC. A method that is not in the table ends with the code 12. */
export function createGrpc(options: GrpcOptions): GrpcServer {
  const grpc = new Server({
    'grpc.max_receive_message_length': options.maxBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': STREAMS_MAX,
    'grpc.max_connection_idle_ms': options.idleMs,
  })
  const definition: Record<string, ServiceDefinition[string]> = {}
  const implementation: UntypedServiceImplementation = {}
  for (const query of QUERIES) {
    definition[query.name] = {
      path: `/${query.name}`,
      requestStream: false,
      responseStream: false,
      requestDeserialize: asBytes,
      responseSerialize: asBytes,
      requestSerialize: asBytes,
      responseDeserialize: asBytes,
    }
    implementation[query.name] = handler(options, query) as UntypedServiceImplementation[string]
  }
  grpc.addService(definition, implementation)
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  const server = net.createServer((socket) => {
    socket.on('error', () => socket.destroy())
    injector.injectConnection(socket)
  })
  const stop = async (withinMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => (server.listening ? server.close(() => resolve()) : resolve()))
    injector.drain(withinMs)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        grpc.forceShutdown()
        resolve()
      }, withinMs)
      grpc.tryShutdown(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    injector.destroy()
    await closed
  }
  return { server, stop }
}
