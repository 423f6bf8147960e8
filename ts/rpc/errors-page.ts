// The page docs/errors.md: every error with its code, text, data and what metrics say of it.
import { ERROR_CLASSES, type ErrorClass, errorKinds, protocolErrors } from './errors.ts'
import { OUTCOMES, outcomeOf } from './outcome.ts'

const cells = (...values: readonly (string | number)[]): string => `| ${values.map((v) => String(v).replaceAll('|', '\\|')).join(' | ')} |`

/** The two labels of an error: class, and class of its code. */
function labels(code: number, errorClass: ErrorClass = 'jsonrpc_error'): [string, string] {
  return [`\`${errorClass}\``, OUTCOMES[outcomeOf({ errorClass, code })]?.codeClass ?? '']
}

/** The page docs/errors.md. */
export function errorsPage(): string {
  const lines = [
    '# Errors',
    '',
    'Generated from `ts/rpc/errors.ts` by `npm run docs`. An error is `{code, message, data?}` of JSON-RPC 2.0, with status 200 over HTTP.',
    'Capitals in a message stand for what varies. `error_class` and `jsonrpc_code` are labels of `evmrpc_request_latency_seconds`',
    '(see [metrics.md](metrics.md)).',
    '',
    '## Of the protocol',
    '',
    cells('code', 'message', 'data', 'error_class', 'jsonrpc_code', 'when'),
    '|---|---|---|---|---|---|',
    ...protocolErrors().map(([e, when]) => cells(e.code, e.message, '', ...labels(e.code, e.errorClass), when)),
    '',
    '## Of the core',
    '',
    cells('kind', 'code', 'message', 'data', 'error_class', 'jsonrpc_code'),
    '|---|---|---|---|---|---|',
    ...errorKinds().map(([kind, { code, message, data, errorClass }]) =>
      cells(`\`${kind}\``, code, message, data ?? '', ...labels(code, errorClass)),
    ),
    '',
    'A trace that fails after bytes of it went out keeps them: `error` stands behind `result`. An answer that cannot be made whole ends with',
    'its connection, and counts as `unknown`.',
    '',
    '## Classes',
    '',
    cells('error_class', 'code', 'when'),
    '|---|---|---|',
    ...Object.entries(ERROR_CLASSES).map(([name, { code, when }]) => cells(`\`${name}\``, code, when)),
  ]
  return `${lines.join('\n')}\n`
}
