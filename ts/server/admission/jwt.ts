// JSON Web Tokens (RFC 7519) as the Engine API has them: HS256, and made within the last minute
// (execution-apis, src/engine/authentication.md). jose verifies signature and standard claims.
import { webcrypto } from 'node:crypto'

/** How far the time at which a JWT was made may be from now, in seconds. */
const MADE_WITHIN_S = 60

const MS_PER_SECOND = 1000

/** The only algorithm, so that a token cannot choose a weaker one (RFC 8725, section 3.1). */
const ALGORITHM = 'HS256'

/** Loaded with the first JWT: most nodes see none. */
const loadJose = () => import('jose')

type Jose = Awaited<ReturnType<typeof loadJose>>

/** Why jose refuses a token, in go-ethereum's words where it has some. */
function reasonOf(e: unknown, { errors }: Jose): string {
  if (e instanceof errors.JOSEAlgNotAllowed) return `invalid token: only ${ALGORITHM} is taken`
  if (e instanceof errors.JWSSignatureVerificationFailed) return 'invalid token: signature is invalid'
  if (e instanceof errors.JWTExpired) return 'token is expired'
  if (e instanceof errors.JWTClaimValidationFailed) {
    if (e.claim === 'iat') return 'missing issued-at'
    return e.claim === 'nbf' ? 'token is not valid yet' : 'token is expired'
  }
  if (e instanceof errors.JOSEError) return 'invalid token'
  throw e
}

/** The times of a token whose signature was verified, in seconds. */
interface Times {
  readonly madeS: number
  readonly expiresS: number
  readonly validFromS: number
}

/**
 * Tokens whose verification is remembered: a consensus client sends the same one with all requests
 * of a second. Of others a lookup reveals nothing: strings are compared where their seeded hashes
 * are equal.
 */
const VERIFIED_MAX = 64

/** Why a verified token is refused at a time, in milliseconds; undefined if it is admitted. */
function refusalAt({ madeS, expiresS, validFromS }: Times, ms: number): string | undefined {
  // As jose compares: whole seconds.
  const nowS = Math.floor(ms / MS_PER_SECOND)
  if (expiresS <= nowS) return 'token is expired'
  if (validFromS > nowS) return 'token is not valid yet'
  // jose's maximum age admits no token of a clock that is ahead.
  const ageS = ms / MS_PER_SECOND - madeS
  if (ageS > MADE_WITHIN_S) return 'stale token'
  return ageS < -MADE_WITHIN_S ? 'future token' : undefined
}

/**
 * What checks JWTs that were signed with a secret: why one is refused, undefined if it is admitted;
 * at once for a token that was verified before. `now` is in milliseconds.
 */
export function jwtCheck(secret: Uint8Array, now: () => number): (token: string) => Promise<string | undefined> | string | undefined {
  let loaded: Promise<[Jose, webcrypto.CryptoKey]> | undefined
  const verified = new Map<string, Times>()
  const load = (): Promise<[Jose, webcrypto.CryptoKey]> =>
    Promise.all([
      loadJose(),
      webcrypto.subtle.importKey('raw', new Uint8Array(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
    ])
  const verify = async (token: string): Promise<string | undefined> => {
    loaded ??= load().catch((e: unknown) => {
      // The next request tries again: the process may have had no file descriptor left.
      loaded = undefined
      throw e
    })
    const [jose, key] = await loaded
    const ms = now()
    const rules = { algorithms: [ALGORITHM], requiredClaims: ['iat'], currentDate: new Date(ms) }
    try {
      const { payload } = await jose.jwtVerify(token, key, rules)
      const { iat, exp = Number.POSITIVE_INFINITY, nbf = 0 } = payload
      const times = { madeS: iat as number, expiresS: exp, validFromS: nbf }
      const why = refusalAt(times, ms)
      if (why !== undefined) return why
      const [oldest] = verified.keys()
      if (verified.size >= VERIFIED_MAX && oldest !== undefined) verified.delete(oldest)
      verified.set(token, times)
      return undefined
    } catch (e) {
      return reasonOf(e, jose)
    }
  }
  return (token) => {
    const known = verified.get(token)
    return known === undefined ? verify(token) : refusalAt(known, now())
  }
}
