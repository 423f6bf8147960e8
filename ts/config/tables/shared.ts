// What the tables of settings share.
import { isIP } from 'node:net'
import { distance } from '../nearest.ts'
import { integer, type Kind, list, Refused, type Setting, text } from '../parsers.ts'

/** A row of a table. */
export const setting = <T>(s: Setting<T>): Setting<T> => s

export const KIB = 1024
export const MIB = 1024 * KIB
export const GIB = 1024 * MIB
export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** A TCP port. */
export const port = integer(0, 65_535)
/** What a listener binds. */
export const host = text('a host name or an IP address', /^[^\s/]+$/)
/** Web pages by origin. */
export const origins = list('a list of origins such as https://example.org, or localhost, or *', (word) =>
  /^(\*|localhost|[a-z][a-z0-9+.-]*:\/\/[^\s,/]+)$/i.test(word),
)
/** Methods of JSON-RPC by name. */
export const methods = list('a list of method names', (word) => /^[a-zA-Z0-9]+_[a-zA-Z0-9_]+$/.test(word))

/** The namespaces that the node knows; `evm.namespaces` chooses from them. */
export const DEFAULT_NAMESPACES = ['eth', 'net', 'web3', 'debug', 'txpool', 'rpc', 'chain', 'trace', 'ots', 'erigon'] as const

/** Namespaces that only a development chain serves, whatever `evm.namespaces` says. */
export const DEV_NAMESPACES = ['anvil', 'evm', 'hardhat', 'personal', 'tenderly'] as const

/** Every namespace. */
export const NAMESPACES: readonly string[] = [...DEFAULT_NAMESPACES, 'testing', ...DEV_NAMESPACES]

/** Most edits between a word and the namespace that it may stand for. */
const NEAR_EDITS_MAX = 2

/** A list of namespaces, or of `more` words. */
export function namespaceList(...more: readonly string[]): Kind<readonly string[]> {
  const known = [...NAMESPACES, ...more]
  const takes = `a list of ${known.join(', ')}`
  const words = list(takes, (word) => known.includes(word))
  const checked = (value: unknown, check: () => readonly string[]): readonly string[] => {
    try {
      return check()
    } catch (e) {
      const given: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
      const unknown = given.map((word) => String(word).trim()).find((word) => word !== '' && !known.includes(word))
      const near = unknown === undefined ? undefined : NAMESPACES.find((name) => distance(unknown.toLowerCase(), name) <= NEAR_EDITS_MAX)
      throw near === undefined || !(e instanceof Refused) ? e : new Refused(`${e.message}; did you mean ${near}?`)
    }
  }
  return {
    ...words,
    parse: (text) => checked(text, () => words.parse(text)),
    check: (value) => checked(value, () => words.check(value)),
  }
}

/**
 * `none`, or the URL of a node; a refused value is not shown, since it may contain a password or a
 * key.
 */
export const nodeUrl: Kind<string> = ((): Kind<string> => {
  const takes = 'none or a URL of JSON-RPC over HTTP such as https://node.example.org:8545'
  const check = (value: unknown): string => {
    if (value === 'none') return value
    if (typeof value === 'string' && /^https?:\/\/\S+$/.test(value) && URL.canParse(value)) return value
    throw new Refused(`takes ${takes}, not "…": what was given is not shown, since it may hold a secret`)
  }
  return { takes, check, parse: check, plain: (value) => value }
})()

/** Entries of `consensus.validator_rpc`. */
export const validatorUrls: Kind<readonly string[]> = ((): Kind<readonly string[]> => {
  const takes = 'a list of ADDRESS=URL or URL, such as 0123456789abcdef0123456789abcdef01234567=http://10.0.0.1:8545'
  const isFine = (entry: unknown): boolean => {
    const url = typeof entry === 'string' ? entry.replace(/^[0-9a-fA-F]{40}=/, '') : ''
    return /^https?:\/\/\S+$/.test(url) && URL.canParse(url)
  }
  const check = (value: unknown): readonly string[] => {
    if (Array.isArray(value) && value.every(isFine)) return [...new Set(value as string[])]
    throw new Refused(`takes ${takes}, not "…": what was given is not shown, since it may hold a secret`)
  }
  const parse = (line: string): readonly string[] =>
    check(
      line
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
  return { takes, check, parse, plain: (value) => value }
})()

/** Networks as address and prefix length; an address alone is a network of one. */
export const networks = list('a list of networks such as 10.0.0.0/8', (word) => {
  const [address, length, ...more] = word.split('/')
  const version = isIP(address ?? '')
  if (version === 0 || more.length > 0) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128))
})
