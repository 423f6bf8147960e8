// The page docs/rpc.md: every method and every error code, out of the two tables.
import { CODE, errorKinds } from './errors.ts'
import { METHODS } from './table.ts'

const COSTS = { read: 'short', heavy: 'heavy', write: 'in order' } as const

/** What each code of ours says where no kind of the core stands for it. */
const PROTOCOL_CODES: readonly (readonly [number, string])[] = [
  [CODE.parse, 'the body is not JSON'],
  [CODE.invalidRequest, 'the request is not one of JSON-RPC 2.0, or a batch is empty or too large'],
  [CODE.methodNotFound, 'no such method, or its namespace is not served'],
  [CODE.invalidParams, 'a parameter is missing, one too many, or not of its type; the text names it'],
  [CODE.internal, 'a defect of this node'],
  [CODE.responseTooLarge, 'the answers to a batch outgrew the limit'],
]

/** The page docs/rpc.md. */
export function rpcPage(): string {
  const lines = [
    '# JSON-RPC',
    '',
    'Generated from `ts/rpc/table.ts` and `ts/rpc/errors.ts` by `npm run docs`. Served over HTTP (POST at `/`) and WebSocket, in the',
    'namespaces that `evm.namespaces` lists. A parameter with `?` may be absent or null. Heavy methods run on threads of their own and are',
    'refused when too many wait; those in order keep their place within a batch.',
    '',
    '| method | parameters | weight | result |',
    '|---|---|---|---|',
  ]
  for (const { name, params, cost, doc } of METHODS) {
    const list = params.map((p) => `\`${p.name}\`${p.required ? '' : '?'}`).join(', ')
    lines.push(`| \`${name}\` | ${list} | ${COSTS[cost]} | ${doc.replaceAll('|', '\\|')} |`)
  }
  lines.push('', '## Errors', '', '| code | when |', '|---|---|')
  for (const [code, when] of PROTOCOL_CODES) lines.push(`| ${code} | ${when} |`)
  lines.push('', 'Failures inside the core, by kind:', '', '| kind | code |', '|---|---|')
  for (const [kind, code] of errorKinds()) lines.push(`| \`${kind}\` | ${code} |`)
  return `${lines.join('\n')}\n`
}
