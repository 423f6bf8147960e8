// A tracer of the reader's own, or one of the node, on a transaction, a block or a call.
import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { BadWhatIf, blockOf, objectText, printable, traceCallOf, type WhatIf } from '../../explore/index.ts'
import { bytes, grouped } from '../parts/format.ts'
import { Card, Copy, Empty, Foreign, usePainted, Wait } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { isHash } from '../store/chain.ts'
import { query } from '../store/router.ts'
import { RpcFailure, rpc } from '../store/rpc.ts'
import { save } from '../tx/gas.tsx'
import { whatIfIn } from './calls.ts'
import type { EditorProps } from './editor.tsx'
import { EXAMPLES, TRACERS } from './examples.ts'
import { useStyle } from './style.ts'

/** Characters of a result that are drawn, and rows of a table. */
const [SHOWN_MAX, ROWS_MAX] = [200_000, 500]

const KEY = 'hearth-tracer'

/** Characters of a script that are kept in the browser. */
const KEPT_MAX = 256 * 1024

interface Draft {
  readonly tracer: string
  readonly config: string
}

function kept(): Draft {
  try {
    const read = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Draft>
    if (typeof read.tracer === 'string') return { tracer: read.tracer, config: typeof read.config === 'string' ? read.config : '' }
  } catch {
    // What is kept is of another version.
  }
  return EXAMPLES[0] as Draft
}

/** What a trace is of, out of what the reader typed. */
function requestOf(subject: string, options: object, call: WhatIf | undefined): [string, unknown[]] {
  const word = subject.trim().toLowerCase()
  if (call !== undefined && word === '') return ['debug_traceCall', traceCallOf(call, options)]
  if (isHash(word)) return ['debug_traceTransaction', [word, options]]
  return ['debug_traceBlockByNumber', [blockOf(word || 'latest'), options]]
}

interface Outcome {
  readonly value?: unknown
  readonly error?: unknown
  readonly ms?: number
}

/** A result as rows, where it is a list or an object of numbers; undefined for others. */
function rowsOf(value: unknown): { readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) {
    const entries = Object.entries(value)
    const isFlat = entries.length > 1 && entries.every(([, one]) => typeof one === 'number')
    return isFlat ? { columns: ['key', 'value'], rows: entries } : undefined
  }
  if (value.length === 0) return undefined
  if (value.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one))) {
    const columns = [...new Set(value.slice(0, 50).flatMap((one) => Object.keys(one as object)))].slice(0, 12)
    return {
      columns,
      rows: value.map((one) =>
        columns.map((name) => (Object.hasOwn(one as object, name) ? (one as Record<string, unknown>)[name] : undefined)),
      ),
    }
  }
  return { columns: ['#', 'value'], rows: value.map((one, i) => [i, one]) }
}

const cell = (value: unknown): string => (value === undefined ? '' : typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const numeric = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : Number.NaN

function order(a: unknown, b: unknown): number {
  const [x, y] = [numeric(a), numeric(b)]
  return Number.isNaN(x) || Number.isNaN(y) ? (cell(a) < cell(b) ? -1 : cell(a) > cell(b) ? 1 : 0) : x - y
}

function Table({ columns, rows }: NonNullable<ReturnType<typeof rowsOf>>): JSX.Element {
  const [by, setBy] = useState<{ readonly column: number; readonly down: boolean }>()
  const sorted = by === undefined ? rows : [...rows].sort((a, b) => (by.down ? -1 : 1) * order(a[by.column], b[by.column]))
  return (
    <div class="scroll">
      <table class="list" data-testid="result-table">
        <thead>
          <tr>
            {columns.map((name, i) => (
              <th key={name} aria-sort={by?.column !== i ? 'none' : by.down ? 'descending' : 'ascending'}>
                <button type="button" class="plain" onClick={() => setBy({ column: i, down: by?.column === i ? !by.down : true })}>
                  <Foreign text={printable(name)} />
                  {by?.column === i ? (by.down ? ' ↓' : ' ↑') : ''}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, ROWS_MAX).map((row, i) => (
            <tr key={i} data-testid="result-row">
              {row.map((value, n) => (
                <td key={n} class="mono">
                  <Foreign text={printable(cell(value))} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_MAX && <p class="said faint">{grouped(rows.length - ROWS_MAX)} more rows: save the result</p>}
    </div>
  )
}

function Result({ outcome: { value, ms } }: { readonly outcome: Outcome }): JSX.Element {
  const [isTable, setTable] = useState(true)
  const text = JSON.stringify(value, null, 2) ?? 'null'
  const table = rowsOf(value)
  return (
    <Card
      title="Result"
      testid="tracer-result"
      more={
        <>
          <span class="faint">
            {bytes(text.length)} in {grouped(ms ?? 0)} ms
          </span>
          {table !== undefined && (
            <button type="button" class="button small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
              {isTable ? 'JSON' : 'Table'}
            </button>
          )}
          <Copy text={text} what="result" />
          <button type="button" class="button small" onClick={() => save('trace.json', 'application/json', text)}>
            Save
          </button>
        </>
      }
    >
      {table !== undefined && isTable ? (
        <Table {...table} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
        <pre class="raw" tabIndex={0} data-testid="result-json" aria-label="Result as JSON">
          {printableLines(text.slice(0, SHOWN_MAX))}
          {text.length > SHOWN_MAX && `\n… ${bytes(text.length - SHOWN_MAX)} more: copy or save all of it`}
        </pre>
      )}
    </Card>
  )
}

/** Text of a result, its lines kept and everything else escaped. */
const printableLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line, true))
    .join('\n')

/** The editor of the script; a plain field until it is loaded, and where it cannot be. */
function SourceField({ value, onChange, onRun }: Pick<EditorProps, 'value' | 'onChange' | 'onRun'>): JSX.Element {
  const [Editor, setEditor] = useState<{ readonly of: ComponentType<EditorProps> }>()
  useEffect(() => {
    import('./editor.tsx').then(
      ({ Editor: loaded }) => setEditor({ of: loaded }),
      () => undefined,
    )
  }, [])
  const label = 'Name, or JavaScript'
  if (Editor !== undefined) return <Editor.of value={value} label={label} testid="tracer-source" onChange={onChange} onRun={onRun} />
  return (
    <textarea
      class="field code"
      rows={Math.min(24, Math.max(3, value.split('\n').length + 1))}
      spellcheck={false}
      aria-label={label}
      data-testid="tracer-source"
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          onRun()
        }
      }}
    />
  )
}

export function TracerPage(): JSX.Element {
  useStyle()
  const [draft, setDraft] = useState<Draft>(kept)
  const [subject, setSubject] = useState(query.value.get('tx') ?? query.value.get('block') ?? '')
  const [call, setCall] = useState<WhatIf>()
  const [outcome, setOutcome] = useState<Outcome | 'running'>()
  const running = useRef<AbortController | undefined>(undefined)
  const fragment = location.hash.slice(1)
  usePainted('/tracer')
  document.title = 'Tracer · Hearth'
  useEffect(() => {
    if (fragment === '') return
    whatIfIn(fragment).then(setCall, (error: unknown) => setOutcome({ error: new BadWhatIf(`This link does not read: ${String(error)}`) }))
  }, [fragment])
  useEffect(() => () => running.current?.abort(), [])
  const change = (next: Draft): void => {
    setDraft(next)
    if (next.tracer.length + next.config.length <= KEPT_MAX) localStorage.setItem(KEY, JSON.stringify(next))
  }
  const run = async (): Promise<void> => {
    running.current?.abort()
    const gone = new AbortController()
    running.current = gone
    const began = performance.now()
    try {
      const tracerConfig = objectText(draft.config, 'Configuration', '{"withLog": true}')
      const tracer = draft.tracer.trim()
      const options = { ...(tracer === '' ? {} : { tracer }), ...(tracerConfig === undefined ? {} : { tracerConfig }) }
      const [method, params] = requestOf(subject, options, call)
      setOutcome('running')
      const value = await rpc<unknown>(method, params, gone.signal)
      setOutcome({ value, ms: Math.round(performance.now() - began) })
    } catch (error) {
      if (!gone.signal.aborted) setOutcome({ error })
    }
  }
  const stop = (): void => {
    running.current?.abort()
    setOutcome(undefined)
  }
  return (
    <>
      <div class="title">
        <div class="what">
          <h1>Tracer</h1>
          <span class="soft">
            A tracer in JavaScript, or one of the node’s, on a transaction
            {call === undefined ? ' or a block' : ', a block or the call of this link'}
          </span>
        </div>
      </div>
      <Card
        title="Tracer"
        more={
          <>
            <select
              class="field"
              aria-label="Examples"
              data-testid="tracer-example"
              onChange={(event) => {
                const found = [...EXAMPLES, ...TRACERS].find(({ name }) => name === event.currentTarget.value)
                if (found !== undefined) change({ tracer: found.tracer, config: found.config })
              }}
            >
              <option value="">Choose …</option>
              <optgroup label="Examples in JavaScript">
                {EXAMPLES.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </optgroup>
              <optgroup label="Of the node">
                {TRACERS.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </optgroup>
            </select>
          </>
        }
      >
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void run()
          }}
        >
          <div class="form">
            <div class="wide">
              <span>Name, or JavaScript</span>
              <SourceField value={draft.tracer} onChange={(tracer) => change({ ...draft, tracer })} onRun={() => void run()} />
            </div>
            <label class="wide">
              <span>Configuration</span>
              <textarea
                class="field"
                rows={2}
                spellcheck={false}
                placeholder={'{"withLog": true}'}
                data-testid="tracer-config"
                value={draft.config}
                onInput={(event) => change({ ...draft, config: event.currentTarget.value })}
              />
            </label>
            <label class="wide">
              <span>Transaction or block</span>
              <input
                class="field"
                spellcheck={false}
                placeholder={call === undefined ? 'a hash, a height, latest' : 'empty: the call of this link'}
                data-testid="tracer-subject"
                value={subject}
                onInput={(event) => setSubject(event.currentTarget.value)}
              />
            </label>
          </div>
          <div class="form-end">
            <button type="submit" class="button main" data-testid="tracer-run">
              Run
            </button>
            {outcome === 'running' && (
              <button type="button" class="button" onClick={stop}>
                Stop
              </button>
            )}
            <span class="faint">Ctrl+Enter runs; the text stays in this browser</span>
          </div>
        </form>
      </Card>
      {outcome === undefined ? (
        <Card>
          <Empty title="Nothing has run yet" />
        </Card>
      ) : outcome === 'running' ? (
        <Wait what="Tracing" />
      ) : outcome.error !== undefined ? (
        <Failed error={outcome.error} />
      ) : (
        <Result outcome={outcome} />
      )}
    </>
  )
}

/** Why nothing came: the node's own message first, which has the place in a script that throws. */
function Failed({ error }: { readonly error: unknown }): JSX.Element {
  if (error instanceof RpcFailure && /JavaScript tracers are not allowed/.test(error.message)) {
    return (
      <section class="trouble" data-testid="trouble" data-trouble="scripts-off" role="alert">
        <h2>This node runs no tracers in JavaScript</h2>
        <p>The setting evm.trace_allow_js_tracers is false. The tracers of the node itself can be chosen by name above.</p>
        <div class="said">
          <Foreign text={printable(error.message)} />
        </div>
      </section>
    )
  }
  if (error instanceof BadWhatIf) {
    return (
      <div class="note" role="alert" data-testid="tracer-said">
        <bdi>{error.message}</bdi>
      </div>
    )
  }
  return <Trouble error={error} />
}
