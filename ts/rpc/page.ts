// The page docs/rpc.md: every method, out of the table.
import { optionsSection } from './codec/trace-options.ts'
import { headersSection } from './headers.ts'
import { METHODS } from './table.ts'

const COSTS = { read: 'short', heavy: 'heavy', write: 'in order' } as const

/** The page docs/rpc.md. */
export function rpcPage(): string {
  const lines = [
    '# JSON-RPC',
    '',
    'Generated from `ts/rpc/table.ts` by `npm run docs`. Served over HTTP (POST at `/`) and WebSocket, in the',
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
  lines.push('', 'What goes wrong has a code and a kind: see [errors.md](errors.md).')
  lines.push('', ...optionsSection(), '', ...headersSection())
  return `${lines.join('\n')}\n`
}
