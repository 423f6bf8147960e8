// Types and encodings of bodies that are read.

const JSON_TYPES = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest'])

/** Whether a body of this type is read. */
export function isJson(type: string | undefined): boolean {
  return type !== undefined && (JSON_TYPES.has(type) || JSON_TYPES.has((type.split(';')[0] as string).trim().toLowerCase()))
}

/** Whether a body is sent as it is (RFC 9110, section 8.4). */
export const isIdentity = (encoding: string | undefined): boolean => encoding === undefined || encoding.trim().toLowerCase() === 'identity'
