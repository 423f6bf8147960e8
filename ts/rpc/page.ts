// The page docs/rpc.md: every method, out of the table, with the examples of
// docs/examples/rpc*.json.
import { optionsSection } from './codec/trace-options.ts'
import { headersSection } from './headers.ts'
import type { Method, Param } from './method.ts'
import { errorsOf } from './method-errors.ts'
import { TYPES, typeOf } from './param-types.ts'
import { METHODS, namespaceOf } from './table.ts'

/** A method that has no transport but the provider of a node in a script. */
interface ProviderMethod {
  readonly name: string
  readonly doc: string
  readonly params: readonly Param<unknown>[]
}

/** A request with its response, in the form of docs/examples/rpc*.json. */
export interface Example {
  readonly method: string
  readonly params: readonly unknown[]
  readonly result?: unknown
  readonly error?: unknown
  /** The result of the first notification of a subscription. */
  readonly notification?: unknown
  /** Fork of the chain, of a method of the Engine API. */
  readonly fork?: string
}

/** Columns of an example. */
const COLUMNS_MAX = 100

const listOf = (params: readonly Param<unknown>[]): string => params.map((p) => `\`${p.name}\`${p.required ? '' : '?'}`).join(', ')

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** JSON on one line where it fits, else a member or item a line. */
function pretty(value: unknown, indent = 0, room = COLUMNS_MAX): string {
  const line = JSON.stringify(value, null, 1)
    .replaceAll(/\n */g, ' ')
    .replaceAll(/([[{]) | ([\]}])/g, '$1$2')
  if (indent + line.length <= room || typeof value !== 'object' || value === null) return line
  const inner = ' '.repeat(indent + 2)
  const items = Array.isArray(value)
    ? value.map((item) => `${inner}${pretty(item, indent + 2, room)}`)
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pretty(item, indent + 2, room - name.length - 4)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${items.join(',\n')}\n${' '.repeat(indent)}${close}`
}

/** The section of a method. */
function section(method: Method, example: Example | undefined): string[] {
  const { name, params, result, cost, doc } = method
  const lines = [`### ${name}`, '', doc, '']
  if (params.length > 0) {
    lines.push('| parameter | type | |', '|---|---|---|')
    for (const param of params)
      lines.push(`| \`${param.name}\` | ${cell(typeOf(method, param) ?? '')} | ${param.required ? 'required' : 'optional'} |`)
    lines.push('')
  }
  const errors = errorsOf(name)
  lines.push(`- Result: ${result}`, `- Cost: ${cost}`, ...(errors.length > 0 ? [`- Errors: ${errors.join('; ')}`] : []), '')
  if (example === undefined) return lines
  const { method: called, params: values, notification, ...response } = example
  const answer = response.error === undefined ? response.result : { error: response.error }
  const block = (value: unknown): string[] => ['```json', pretty(value), '```', '']
  const notice = notification === undefined ? [] : ['The result of a notification:', '', ...block(notification)]
  return [...lines, ...block({ method: called, params: values }), ...block(answer), ...notice]
}

/**
 * The page docs/rpc.md; `providerMethods` are those that only a provider within the process has.
 */
export function rpcPage(providerMethods: readonly ProviderMethod[] = [], examples: readonly Example[] = []): string {
  const lines = [
    '# JSON-RPC',
    '',
    'Generated from `ts/rpc/table.ts` by `npm run docs`. Served over HTTP (POST at `/`) and WebSocket, in the',
    'namespaces that `evm.namespaces` lists. A parameter with `?` may be absent or null. The cost of a',
    'method is `read` (a short read), `heavy` (executes or searches, on a thread pool that refuses requests when too many wait) or `write`',
    '(changes the node; executed in order within a batch).',
    '',
    'Every method may return -32602 (a parameter is missing or invalid), -32601 (the method or its namespace is not served), -32000 while the',
    'node starts, and -32603 (a defect of the node); heavy methods -32005 (busy). [errors.md](errors.md) has every code and kind.',
    '',
    'Examples are requests without `jsonrpc` and `id`, and the `result` of their response, on the chain of `hearth dev --demo`; those of',
    'the Engine API on chains of the fork that the method belongs to, without other blocks. A test runs them. `…` stands for what is left out or differs from run to run; words in braces stand for values of that chain.',
    '',
    '## Types',
    '',
    '| type | in JSON |',
    '|---|---|',
    ...Object.entries(TYPES).map(([type, text]) => `| ${type} | ${cell(text)} |`),
    '',
    '## Overview',
    '',
    '| method | parameters | cost | what it does |',
    '|---|---|---|---|',
  ]
  for (const { name, params, cost, doc } of METHODS) {
    lines.push(`| \`${name}\` | ${listOf(params)} | ${cost} | ${cell(doc)} |`)
  }
  const found = new Map(examples.toReversed().map((example) => [example.method, example]))
  for (const namespace of new Set(METHODS.map(({ name }) => namespaceOf(name)))) {
    lines.push('', `## Namespace ${namespace}`, '')
    for (const method of METHODS) if (namespaceOf(method.name) === namespace) lines.push(...section(method, found.get(method.name)))
    lines.pop()
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
  lines.push('', ...optionsSection(), '', ...headersSection())
  return `${lines.join('\n')}\n`
}
