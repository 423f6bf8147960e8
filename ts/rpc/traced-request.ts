// Reads short requests whose parameters are a place in the chain and the name of a tracer, as most
// requests for traces are, without `JSON.parse`: reading a baked answer takes hardly longer than
// parsing such a text does. Any other text, good or bad, is left to `JSON.parse`.

/** A request in that form. */
export interface TracedRequest {
  /** The id as the client wrote it; undefined for a notification. */
  readonly id: string | undefined
  readonly method: string
  /** The value that `JSON.parse` gives. */
  readonly params: readonly [place: string, config: { readonly tracer: string }]
}

/** What every such request has in it. */
const MARK = '"tracer"'

const SPACE = '[ \\t\\n\\r]*'
const COLON = `"${SPACE}:${SPACE}`

/** A string of printable ASCII without escapes, without its quotes. */
const PLAIN = '[ !#-\\[\\]-~]*'

/** A member of a request, and what stands behind it. Ids are strings and short whole numbers. */
const MEMBER = new RegExp(
  `${SPACE}"(?:jsonrpc${COLON}("2\\.0")|id${COLON}(0|[1-9][0-9]{0,14}|"${PLAIN}")|method${COLON}"([A-Za-z0-9_]{1,64})"|` +
    `params${COLON}\\[${SPACE}"(${PLAIN})"${SPACE},${SPACE}\\{${SPACE}"tracer${COLON}"(${PLAIN})"${SPACE}\\}${SPACE}\\])${SPACE}([,}])`,
  'y',
)

const OPEN_BRACE = 0x7b

/** Reads a request that is in the form; undefined for any other text. */
export function readTracedRequest(text: string): TracedRequest | undefined {
  if (text.charCodeAt(0) !== OPEN_BRACE || !text.includes(MARK)) return undefined
  let version: string | undefined
  let id: string | undefined
  let method: string | undefined
  let place: string | undefined
  let tracer: string | undefined
  let members = 0
  MEMBER.lastIndex = 1
  for (let isLast = false; !isLast; members++) {
    const found = MEMBER.exec(text)
    if (found === null) return undefined
    version ??= found[1]
    id ??= found[2]
    method ??= found[3]
    place ??= found[4]
    tracer ??= found[5]
    isLast = found[6] === '}'
  }
  if (version === undefined || method === undefined || place === undefined || tracer === undefined) return undefined
  // As many members as there are kinds: none is there twice.
  if (members !== (id === undefined ? 3 : 4) || MEMBER.lastIndex !== text.length) return undefined
  return { id, method, params: [place, { tracer }] }
}
