// The page docs/rpc.md: every method, out of the table.
import { optionsSection } from './codec/trace-options.ts'
import { headersSection } from './headers.ts'
import type { Param } from './method.ts'
import { METHODS } from './table.ts'

const COSTS = { read: 'short', heavy: 'heavy', write: 'in order' } as const

/** A method that has no transport but the provider of a node in a script. */
interface ProviderMethod {
  readonly name: string
  readonly doc: string
  readonly params: readonly Param<unknown>[]
}

const listOf = (params: readonly Param<unknown>[]): string => params.map((p) => `\`${p.name}\`${p.required ? '' : '?'}`).join(', ')

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The page docs/rpc.md; `providerMethods` are those that only a provider within the process has. */
export function rpcPage(providerMethods: readonly ProviderMethod[] = []): string {
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
    lines.push(`| \`${name}\` | ${listOf(params)} | ${COSTS[cost]} | ${cell(doc)} |`)
  }
  lines.push(
    '',
    '## Within a script',
    '',
    'Methods of `node.provider` alone, which no listener serves.',
    '',
    '| method | parameters | result |',
    '|---|---|---|',
    ...providerMethods.map(({ name, params, doc }) => `| \`${name}\` | ${listOf(params)} | ${cell(doc)} |`),
  )
  lines.push('', 'What goes wrong has a code and a kind: see [errors.md](errors.md).')
  lines.push('', ...optionsSection(), '', ...headersSection())
  return `${lines.join('\n')}\n`
}
