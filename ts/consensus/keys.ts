// Keys of ed25519 in the files of CometBFT, in the formats of its privval/file.go and p2p/key.go.
import { createHash, generateKeyPairSync } from 'node:crypto'

/** Bytes of a seed and of a public key (RFC 8032). */
const KEY_BYTES = 32

/** Bytes of an address: the first ones of the SHA-256 of the public key. */
const ADDRESS_BYTES = 20

/** A pair of keys. */
export interface KeyPair {
  readonly seed: Buffer
  readonly publicKey: Buffer
}

/** A new pair. */
export function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  // Seed and point stand at the end of their DER forms (RFC 8410).
  const last = (der: Buffer): Buffer => der.subarray(der.length - KEY_BYTES)
  return {
    seed: last(privateKey.export({ type: 'pkcs8', format: 'der' })),
    publicKey: last(publicKey.export({ type: 'spki', format: 'der' })),
  }
}

const addressBytes = ({ publicKey }: KeyPair): Buffer => createHash('sha256').update(publicKey).digest().subarray(0, ADDRESS_BYTES)

/** The address of a validator: 40 digits in upper case. */
export const validatorAddress = (pair: KeyPair): string => addressBytes(pair).toString('hex').toUpperCase()

/** The id by which nodes know each other: 40 digits in lower case. */
export const nodeId = (pair: KeyPair): string => addressBytes(pair).toString('hex')

/** A key as CometBFT's JSON has it. */
interface TypedKey {
  readonly type: string
  readonly value: string
}

/** The public key as JSON. */
export const publicKeyJson = ({ publicKey }: KeyPair): TypedKey => ({
  type: 'tendermint/PubKeyEd25519',
  value: publicKey.toString('base64'),
})

/** The private key as JSON: the seed, and the public key behind it. */
const privateKeyJson = ({ seed, publicKey }: KeyPair): TypedKey => ({
  type: 'tendermint/PrivKeyEd25519',
  value: Buffer.concat([seed, publicKey]).toString('base64'),
})

const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The file of the key by which a validator votes. */
export const validatorKeyFile = (pair: KeyPair): string =>
  text({ address: validatorAddress(pair), pub_key: publicKeyJson(pair), priv_key: privateKeyJson(pair) })

/** The file of the key by which a node proves who it is. */
export const nodeKeyFile = (pair: KeyPair): string => text({ priv_key: privateKeyJson(pair) })

/** The file of what a validator signed last, before it signed anything. */
export const NEW_VALIDATOR_STATE = text({ height: '0', round: 0, step: 0 })
