// Authentication: bearer tokens (RFC 6750) and JSON Web Tokens.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../config/index.ts'
import { jwtCheck } from './jwt.ts'

/** Characters that a token must have: fewer can be guessed. */
const TOKEN_CHARACTERS_MIN = 16

/** Tokens of a file. */
const TOKENS_MAX = 1000

/** Bytes of the secret of JWTs. */
const SECRET_BYTES = 32

/** Longest value of the header that is looked at, in characters. */
const HEADER_CHARACTERS_MAX = 8192

/** A setting that names a file of secrets. */
type AuthFileSetting = 'evm.auth_token_file' | 'evm.auth_jwt_file' | 'engine.jwt_secret_file'

/** A file of the settings cannot be used: the message says which and why. */
export class AuthFileError extends Error {
  override name = 'AuthFileError'
  readonly setting: AuthFileSetting
  /** The file and what is wrong with it. */
  readonly problem: string

  constructor(setting: AuthFileSetting, problem: string) {
    super(`${setting}: ${problem}`)
    this.setting = setting
    this.problem = problem
  }
}

/** Why a request is refused; undefined if it is admitted. */
export type Refusal = string | undefined | Promise<string | undefined>

/** The authentication of a listener. */
export interface Authentication {
  /**
   * Namespaces whose methods need it; undefined: all, so that nothing else of a request is read
   * before.
   */
  readonly namespaces: ReadonlySet<string> | undefined
  /**
   * Why a request is refused, by the value of its header Authorization; undefined if it is
   * admitted. At once, or later where a JWT is verified.
   */
  readonly refusal: (header: string | undefined) => Refusal
}

/** System errors in words; any other one by its code. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file',
}

function read(file: string, setting: AuthFileSetting): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    const { code = '', message } = e as NodeJS.ErrnoException
    throw new AuthFileError(setting, `cannot read ${file}: ${REASONS[code] ?? message}`)
  }
}

/** Bits of a file's mode that let other users read or change it, or the group change it. */
const LOOSE_MODE = 0o027

const PERMISSIONS = 0o777

/**
 * The content of a file of secrets. A file that users outside its group may read, or that its group
 * may change, is refused, because its secrets grant access.
 */
function secretsOf<T>(setting: AuthFileSetting, file: string, parse: (text: string, file: string) => T): T {
  const secrets = parse(read(file, setting), file)
  const mode = fs.statSync(file).mode & PERMISSIONS
  if ((mode & LOOSE_MODE) !== 0) {
    const why = `${file} has mode ${mode.toString(8).padStart(3, '0')}, so other users may read or change it`
    throw new AuthFileError(setting, `${why}: run \`chmod 600 ${file}\`, or \`chmod 640\` where its group may read it`)
  }
  return secrets
}

/**
 * Hashes under a key of this process: equal lengths, so that a comparison reveals nothing of the
 * compared values.
 */
class Fingerprints {
  private readonly key = randomBytes(SECRET_BYTES)

  of(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest()
  }
}

/** Whether a token is one of a file's, in a time that does not depend on which. */
export function tokenCheck(text: string, file: string): (token: string) => boolean {
  const tokens = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  const short = tokens.find((token) => token.length < TOKEN_CHARACTERS_MIN || /\s/.test(token))
  if (tokens.length === 0 || tokens.length > TOKENS_MAX || short !== undefined) {
    const lines = `one token a line, 1 to ${TOKENS_MAX} of them`
    throw new AuthFileError(
      'evm.auth_token_file',
      `${file} must hold ${lines}, each of at least ${TOKEN_CHARACTERS_MIN} characters, no spaces`,
    )
  }
  const fingerprints = new Fingerprints()
  const known = tokens.map((token) => fingerprints.of(token))
  return (token) => {
    const given = fingerprints.of(token)
    let found = false
    for (const one of known) found = timingSafeEqual(one, given) || found
    return found
  }
}

/** The secret of a file: 32 bytes in hex, with or without 0x. */
export function jwtSecret(text: string, file: string, setting: AuthFileSetting = 'evm.auth_jwt_file'): Buffer {
  const hex = text.trim().replace(/^0x/i, '')
  if (hex.length !== 2 * SECRET_BYTES || !/^[0-9a-f]*$/i.test(hex)) {
    throw new AuthFileError(setting, `${file} must hold ${SECRET_BYTES} bytes in hex, such as \`openssl rand -hex 32\` writes`)
  }
  return Buffer.from(hex, 'hex')
}

/** The token of a header; undefined where it has none. */
function bearer(header: string | undefined): string | undefined {
  if (header === undefined || header.length > HEADER_CHARACTERS_MAX) return undefined
  return /^bearer +(\S+)$/i.exec(header.trim())?.[1]
}

/** Whether the settings require a token or JWT anywhere. */
export const asksForTokens = (settings: Settings): boolean =>
  settings['evm.auth_token_file'] !== 'none' || settings['evm.auth_jwt_file'] !== 'none'

/** What is wrong with the files that the settings name: every one that cannot be used. */
export function authFileProblems(settings: Settings): AuthFileError[] {
  const checks: (() => unknown)[] = []
  const [tokens, jwt] = [settings['evm.auth_token_file'], settings['evm.auth_jwt_file']]
  if (tokens !== 'none') checks.push(() => secretsOf('evm.auth_token_file', tokens, tokenCheck))
  if (jwt !== 'none') checks.push(() => secretsOf('evm.auth_jwt_file', jwt, jwtSecret))
  return checks.flatMap((check) => {
    try {
      check()
      return []
    } catch (e) {
      if (e instanceof AuthFileError) return [e]
      throw e
    }
  })
}

/** A token for as long as this process runs. */
export const newRunToken = (): string => randomBytes(SECRET_BYTES).toString('hex')

/** Whether a token is the one of this run; undefined where the run has none. */
function runTokenCheck(token: string | undefined): ((token: string) => boolean) | undefined {
  if (token === undefined) return undefined
  const fingerprints = new Fingerprints()
  const known = fingerprints.of(token)
  return (given) => timingSafeEqual(fingerprints.of(given), known)
}

/** How a request without a token is refused. */
const MISSING_TOKEN = 'missing token: send the header Authorization: Bearer TOKEN'

/** Writes a new secret for its owner alone, where the file is not there. */
function makeSecret(file: string): void {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    fs.writeFileSync(file, `0x${randomBytes(SECRET_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (e) {
    const { code = '', message } = e as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new AuthFileError('engine.jwt_secret_file', `cannot make ${file}: ${REASONS[code] ?? message}`)
  }
}

/**
 * The authentication of the Engine API's listener: a JWT signed with the secret of a file, which is
 * made if it does not exist. Other users may read the file: a consensus client may run as another
 * one.
 */
export function engineAuthentication(file: string, now: () => number = Date.now): Authentication {
  makeSecret(file)
  const refusalOf = jwtCheck(jwtSecret(read(file, 'engine.jwt_secret_file'), file, 'engine.jwt_secret_file'), now)
  const refusal = (header: string | undefined): Refusal => {
    const token = bearer(header)
    return token === undefined ? MISSING_TOKEN : refusalOf(token)
  }
  return { namespaces: undefined, refusal }
}

/**
 * The authentication of each listener; undefined for open ones. Reads the files of the settings:
 * throws `AuthFileError` if one cannot be used. `runToken` admits processes that may read the home,
 * in addition to the settings.
 */
export function authentication(
  settings: Settings,
  { now = Date.now, runToken }: { readonly now?: () => number; readonly runToken?: string | undefined } = {},
): (listener: string) => Authentication | undefined {
  const [tokens, jwt] = [settings['evm.auth_token_file'], settings['evm.auth_jwt_file']]
  if (!asksForTokens(settings)) return () => undefined
  const isOfRun = runTokenCheck(runToken)
  const isToken = tokens === 'none' ? undefined : secretsOf('evm.auth_token_file', tokens, tokenCheck)
  const refusalOf = jwt === 'none' ? undefined : jwtCheck(secretsOf('evm.auth_jwt_file', jwt, jwtSecret), now)
  const refusal = (header: string | undefined): Refusal => {
    const token = bearer(header)
    if (token === undefined) return MISSING_TOKEN
    if (isToken?.(token) === true || isOfRun?.(token) === true) return undefined
    return refusalOf === undefined ? 'invalid token' : refusalOf(token)
  }
  const named = settings['evm.auth_namespaces']
  const namespaces = named.includes('*') ? undefined : new Set(named)
  const asked = settings['evm.auth_listeners']
  return (listener) => (asked.includes(listener) ? { namespaces, refusal } : undefined)
}
