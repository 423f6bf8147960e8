// Clients of the Cosmos SDK for tests of networks: packages that npm installs once a machine, and
// the same query through the three doors of a node: REST, gRPC and the RPC of CometBFT.
import { createRequire } from 'node:module'
import path from 'node:path'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { cometbftProgram, TESTED_VERSION } from '../cometbft-programs.mjs'
import { clients } from './clients/install.ts'

/** What packages give that only some machines have. */
// biome-ignore lint/suspicious/noExplicitAny: cosmjs is no dependency of this project
export type Foreign = any

const installed = await clients('cosmos')
const cometbft = await cometbftProgram(TESTED_VERSION)

/** Why clients or CometBFT are not there; undefined where both are. */
export const missing: string | undefined = 'missing' in installed ? installed.missing : 'missing' in cometbft ? cometbft.missing : undefined

/** The program of CometBFT; empty where it is missing. */
export const program: string = 'program' in cometbft ? cometbft.program : ''

/** A package of the clients. */
export const foreign = (name: string): Foreign => createRequire(path.join((installed as { dir: string }).dir, 'package.json'))(name)

/** The messages of a file of cosmjs-types, such as `cosmos/bank/v1beta1/query`. */
export const types = (name: string): Foreign => foreign(`cosmjs-types/${name}`)

/** Header of REST and metadata of gRPC: the height of the state that is read. */
export const HEIGHT = 'x-cosmos-block-height'

/** An answer over REST. */
export interface RestAnswer {
  readonly status: number
  readonly height: string | null
  readonly json: Foreign
}

/** GETs a path, or POSTs a body to it. */
export async function rest(base: string, where: string, height?: number, body?: unknown): Promise<RestAnswer> {
  const headers: Record<string, string> = height === undefined ? {} : { [HEIGHT]: String(height) }
  const sent = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${base}${where}`, sent)
  return { status: response.status, height: response.headers.get(HEIGHT), json: await response.json() }
}

/** A failure of gRPC. */
export interface GrpcFailure {
  readonly code: number
  readonly details: string
}

const same = (bytes: Buffer): Buffer => bytes

/** A client of gRPC for one address. */
export class Grpc {
  private readonly client: Client

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure())
  }

  /** The bytes of an answer and its height; rejects with `GrpcFailure`. */
  call(query: string, request: Uint8Array, height?: number): Promise<{ readonly bytes: Buffer; readonly height: string | undefined }> {
    const metadata = new Metadata()
    if (height !== undefined) metadata.set(HEIGHT, String(height))
    return new Promise((resolve, reject) => {
      let of: string | undefined
      const call = this.client.makeUnaryRequest(`/${query}`, same, same, Buffer.from(request), metadata, (e, bytes) =>
        e === null ? resolve({ bytes: bytes as Buffer, height: of }) : reject({ code: e.code, details: e.details }),
      )
      call.on('metadata', (given) => {
        of = given.get(HEIGHT)[0]?.toString()
      })
    })
  }

  close(): void {
    this.client.close()
  }
}

/** An answer of `abci_query`. */
export interface AbciAnswer {
  readonly code: number
  readonly log: string
  readonly value: Buffer
  readonly height: number
  readonly codespace: string
}

/** A query through the RPC of CometBFT. */
export async function abciQuery(comet: string, where: string, data: Uint8Array, height = 0): Promise<AbciAnswer> {
  const params = { path: where, data: Buffer.from(data).toString('hex'), height: String(height) }
  const response = await fetch(comet, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'abci_query', params }),
  })
  const { code, log, value, height: of, codespace } = ((await response.json()) as Foreign).result.response
  return { code, log, value: Buffer.from(value ?? '', 'base64'), height: Number(of), codespace }
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Names of enums in the messages that tests read. */
const STATUSES = ['BOND_STATUS_UNSPECIFIED', 'BOND_STATUS_UNBONDED', 'BOND_STATUS_UNBONDING', 'BOND_STATUS_BONDED']

/** Fields that are numbers of 18 decimals: an integer in protobuf. */
const DECIMALS: readonly string[] = ['delegator_shares', 'shares', 'rate', 'max_rate', 'max_change_rate', 'min_commission_rate']

/** Fields of validators that only other modules of the SDK fill. */
const OF_HOOKS: readonly string[] = ['unbondingOnHoldRefCount', 'unbondingIds']

const decimal = (atoms: string): string => {
  const digits = atoms.padStart(19, '0')
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`
}

/** Types of messages within an Any, by URL: how they are decoded. */
const anyOf = (url: string): Foreign => {
  if (url === '/cosmos.crypto.ed25519.PubKey') return types('cosmos/crypto/ed25519/keys').PubKey
  if (url === '/cosmos.auth.v1beta1.BaseAccount') return types('cosmos/auth/v1beta1/auth').BaseAccount
  throw new Error(`the tests do not know ${url}`)
}

/**
 * A message of cosmjs-types as the gateways of the Cosmos SDK write it in JSON: names in snake
 * case, numbers of 64 bits as text, bytes in base64, times in RFC 3339.
 */
export function jsonOf(value: Foreign, name = ''): Foreign {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return value.toString()
  if (name === 'status' && typeof value === 'number') return STATUSES[value]
  if (typeof value === 'string') return DECIMALS.includes(name) ? decimal(value) : value
  if (value instanceof Uint8Array) return name === 'next_key' && value.length === 0 ? null : Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map((one) => jsonOf(one, name))
  if (typeof value !== 'object') return value
  if (typeof value.typeUrl === 'string') return { '@type': value.typeUrl, ...jsonOf(anyOf(value.typeUrl).decode(value.value)) }
  if (typeof value.seconds === 'bigint' && typeof value.nanos === 'number') {
    if (name === 'duration') return `${value.seconds}s`
    return new Date(Number(value.seconds) * 1000).toISOString().replace('.000Z', 'Z')
  }
  // The parameters of staking have a duration where validators have a time.
  const nameOf = (key: string): string => (key === 'unbondingTime' && 'maxValidators' in value ? 'duration' : snake(key))
  const entries = Object.entries(value).filter(([key]) => !('consensusPubkey' in value && OF_HOOKS.includes(key)))
  return Object.fromEntries(entries.map(([key, inner]) => [snake(key), jsonOf(inner, nameOf(key))]))
}
