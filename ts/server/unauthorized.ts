// The answer to a client without a token or JWT (RFC 6750, section 3).
import { errorAnswer } from '../rpc/envelope.ts'
import { unauthorized } from '../rpc/errors.ts'

/** The header www-authenticate. */
export const CHALLENGE = 'Bearer realm="hearth"'

/** The body: a JSON-RPC error. Nothing of the request was read, so its id is not known. */
export const unauthorizedBody = (why: string): string => errorAnswer('null', unauthorized(why))
