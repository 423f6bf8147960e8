// What the node answered, as it answered.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { bytes } from '../parts/format.ts'
import { Card, Copy, Segments, Wait } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useResource } from '../store/resource.ts'
import { isCall } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import { save } from './gas.tsx'

const PARTS = ['transaction', 'receipt', 'callTracer', 'prestateTracer'] as const
type Part = (typeof PARTS)[number]

/** Characters that are drawn; all of them are copied and saved. */
const SHOWN_MAX = 200_000

function askFor(part: Part, hash: string, signal: AbortSignal): Promise<unknown> {
  if (part === 'transaction') return rpc('eth_getTransactionByHash', [hash], signal)
  if (part === 'receipt') return rpc('eth_getTransactionReceipt', [hash], signal)
  const tracerConfig = part === 'callTracer' ? { withLog: true } : { diffMode: true }
  return rpc('debug_traceTransaction', [hash, { tracer: part, tracerConfig }], signal)
}

export function Raw({ hash, block }: { readonly hash: string; readonly block: string }): JSX.Element {
  const [part, setPart] = useState<Part>('callTracer')
  const { value, error, reload } = useResource(`raw ${part} ${hash} ${block}`, async (signal) =>
    JSON.stringify(await askFor(part, hash, signal), null, 2),
  )
  return (
    <Card
      title="Raw JSON"
      more={
        <>
          <Segments
            label="Answer"
            value={part}
            onChange={setPart}
            options={PARTS.filter((name) => !isCall(hash) || name.endsWith('Tracer')).map((name) => [name, name] as const)}
          />
          {value !== undefined && (
            <>
              <Copy text={value} what="JSON" />
              <button
                type="button"
                class="button small"
                onClick={() => save(`${hash.slice(0, 10)}.${part}.json`, 'application/json', value)}
              >
                Save {bytes(value.length)}
              </button>
            </>
          )}
        </>
      }
    >
      {error !== undefined ? (
        <Trouble error={error} retry={reload} />
      ) : value === undefined ? (
        <Wait what="Asking the node" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
        <pre class="raw" data-testid="raw" tabIndex={0} aria-label={`${part} as JSON`}>
          {value.slice(0, SHOWN_MAX)}
          {value.length > SHOWN_MAX && `\n… ${bytes(value.length - SHOWN_MAX)} more: copy or save all of it`}
        </pre>
      )}
    </Card>
  )
}
