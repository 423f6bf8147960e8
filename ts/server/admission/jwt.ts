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

/**
 * What checks JWTs that were signed with a secret: resolves to why one is refused, undefined if it
 * is admitted. `now` is in milliseconds.
 */
export function jwtCheck(secret: Uint8Array, now: () => number): (token: string) => Promise<string | undefined> {
  let loaded: Promise<[Jose, webcrypto.CryptoKey]> | undefined
  const load = (): Promise<[Jose, webcrypto.CryptoKey]> =>
    Promise.all([
      loadJose(),
      webcrypto.subtle.importKey('raw', new Uint8Array(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
    ])
  return async (token) => {
    loaded ??= load()
    const [jose, key] = await loaded
    const ms = now()
    const rules = { algorithms: [ALGORITHM], requiredClaims: ['iat'], currentDate: new Date(ms) }
    let madeS: number
    try {
      const { payload } = await jose.jwtVerify(token, key, rules)
      madeS = payload.iat as number
    } catch (e) {
      return reasonOf(e, jose)
    }
    // jose's maximum age admits no token of a clock that is ahead.
    const ageS = ms / MS_PER_SECOND - madeS
    if (ageS > MADE_WITHIN_S) return 'stale token'
    return ageS < -MADE_WITHIN_S ? 'future token' : undefined
  }
}
