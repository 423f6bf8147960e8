// What if: a call that is not mined, or a mined transaction with changes, shown as a transaction
// is.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  amountOf,
  BadWhatIf,
  blockOf,
  castOf,
  curlOf,
  type MinedTransaction,
  objectText,
  type RawFrame,
  replayOf,
  viemOf,
  type WhatIf,
} from '../../explore/index.ts'
import { Views } from '../pages/transaction.tsx'
import { grouped } from '../parts/format.ts'
import { Card, Copy, Fact, TxLink, usePainted, Wait } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useResource } from '../store/resource.ts'
import { go, query, txPath, type View } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import { save } from '../tx/gas.tsx'
import { traceOf, useStepIndex, useTrace } from '../tx/load.ts'
import { fragmentOf, register, whatIfIn } from './calls.ts'
import { Compared } from './compare.tsx'
import { useStyle } from './style.ts'

/** Texts of the form's fields. */
export interface Form {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly gas: string
  readonly data: string
  readonly block: string
  readonly index: string
  readonly state: string
  readonly env: string
  /** Further fields of the transaction, as JSON: prices, lists of access and of authorizations. */
  readonly more: string
  readonly replay: string | undefined
}

const EMPTY: Form = {
  from: '',
  to: '',
  value: '',
  gas: '',
  data: '',
  block: 'latest',
  index: '',
  state: '',
  env: '',
  more: '',
  replay: undefined,
}
const FIELDS = new Set(['from', 'to', 'value', 'gas', 'data', 'input'])
const STATE = '{"0x…": {"balance": "0xde0b6b3a7640000", "code": "0x…", "stateDiff": {"0x0…": "0x1…"}}}'
const ENV = '{"time": "0x6553f100", "number": "0x10", "baseFeePerGas": "0x0"}'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const json = (value: Readonly<Record<string, unknown>> | undefined): string =>
  value === undefined || Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2)

/** The fields of a what-if. */
function formOf({ call, block, index, stateOverrides, blockOverrides, replay }: WhatIf): Form {
  const value = /^0x[0-9a-fA-F]+$/.test(text(call.value)) ? BigInt(text(call.value)).toString() : text(call.value)
  return {
    from: text(call.from),
    to: text(call.to),
    value: value === '0' ? '' : value,
    gas: /^0x[0-9a-fA-F]+$/.test(text(call.gas)) ? BigInt(text(call.gas)).toString() : text(call.gas),
    data: text(call.data ?? call.input),
    block: /^0x[0-9a-f]{1,13}$/.test(block) ? String(Number(block)) : block,
    index: index === undefined ? '' : String(index),
    state: json(stateOverrides),
    env: json(blockOverrides),
    more: json(Object.fromEntries(Object.entries(call).filter(([name]) => !FIELDS.has(name)))),
    replay,
  }
}

function addressText(given: string, name: string): string | undefined {
  const word = given.trim()
  if (word === '') return undefined
  if (!/^0x[0-9a-fA-F]{40}$/.test(word)) throw new BadWhatIf(`${name} takes an address, 0x and 40 hex digits`)
  return word.toLowerCase()
}

/** What a form says; throws `BadWhatIf`. */
export function whatIfOfForm({ from, to, value, gas, data, block, index, state, env, more, replay }: Form): WhatIf {
  const bytes = data.replaceAll(/\s/g, '')
  if (bytes !== '' && !/^0x([0-9a-fA-F]{2})*$/.test(bytes)) throw new BadWhatIf('Data takes bytes in hex, two digits each, behind 0x')
  if (index.trim() !== '' && !/^\d{1,6}$/.test(index.trim()))
    throw new BadWhatIf('Before transaction takes its number in the block, from 0 on')
  const [sender, target] = [addressText(from, 'From'), addressText(to, 'To')]
  const call = {
    ...objectText(more, 'Further fields', '{"maxFeePerGas": "0x3b9aca00"}'),
    ...(sender === undefined ? {} : { from: sender }),
    ...(target === undefined ? {} : { to: target }),
    ...(value.trim() === '' ? {} : { value: amountOf(value, 'Value') }),
    ...(gas.trim() === '' ? {} : { gas: amountOf(gas, 'Gas') }),
    ...(bytes === '' ? {} : { data: bytes }),
  }
  const [stateOverrides, blockOverrides] = [objectText(state, 'State overrides', STATE), objectText(env, 'Block overrides', ENV)]
  return {
    call,
    block: blockOf(block),
    ...(index.trim() === '' ? {} : { index: Number(index) }),
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
    ...(replay === undefined ? {} : { replay }),
  }
}

interface Field {
  readonly name: keyof Form
  readonly label: string
  readonly hint?: string
  readonly lines?: number
}

const CALL_FIELDS: readonly Field[] = [
  { name: 'from', label: 'From', hint: '0x…' },
  { name: 'to', label: 'To', hint: 'empty: makes a contract' },
  { name: 'value', label: 'Value', hint: '1.5 ether, 20 gwei, wei' },
  { name: 'gas', label: 'Gas', hint: 'as much as the node allows' },
  { name: 'block', label: 'Block', hint: 'latest' },
  { name: 'index', label: 'Before transaction', hint: 'empty: after the block' },
]
const LONG_FIELDS: readonly Field[] = [
  { name: 'data', label: 'Data', hint: '0x…', lines: 3 },
  { name: 'state', label: 'State overrides', hint: STATE, lines: 2 },
  { name: 'env', label: 'Block overrides', hint: ENV, lines: 2 },
  { name: 'more', label: 'Further fields', hint: '{"maxFeePerGas": "0x3b9aca00"}', lines: 2 },
]

export function CallForm({ form, onChange }: { readonly form: Form; readonly onChange: (form: Form) => void }): JSX.Element {
  const field = ({ name, label, hint = '', lines }: Field): JSX.Element => {
    const attributes = {
      class: 'field',
      value: form[name] ?? '',
      placeholder: hint,
      spellcheck: false,
      autocomplete: 'off' as const,
      id: `call-${name}`,
      'data-testid': `call-${name}`,
      onInput: (event: Event) => onChange({ ...form, [name]: (event.currentTarget as HTMLInputElement).value }),
    }
    return (
      <label key={name} class={lines === undefined ? '' : 'wide'} for={`call-${name}`}>
        <span>{label}</span>
        {lines === undefined ? (
          <input {...attributes} />
        ) : (
          <textarea {...attributes} rows={Math.min(12, Math.max(lines, (form[name] ?? '').split('\n').length))} />
        )}
      </label>
    )
  }
  return <div class="form">{[...CALL_FIELDS, ...LONG_FIELDS].map(field)}</div>
}

/** The block of a what-if by its hash and height, so that every view sees the same state. */
export async function pinned(whatIf: WhatIf): Promise<{ readonly whatIf: WhatIf; readonly height: string }> {
  const isHash = whatIf.block.length === 66
  const block = await rpc<{ hash: string | null; number: string } | null>(isHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber', [
    whatIf.block,
    false,
  ])
  if (block === null) throw new BadWhatIf(`Block: this node has no block ${whatIf.block}`)
  return { whatIf: { ...whatIf, block: block.hash ?? whatIf.block }, height: block.number }
}

const Said = ({ error }: { readonly error: unknown }): JSX.Element =>
  error instanceof BadWhatIf ? (
    <div class="note" role="alert" data-testid="call-said">
      <bdi>{error.message}</bdi>
    </div>
  ) : (
    <Trouble error={error} />
  )

/** The mined transaction beside the call that was made from it. */
function AgainstMined({ hash, name, block }: { readonly hash: string; readonly name: string; readonly block: string }): JSX.Element | null {
  const { value: mined, error } = useResource(`mined ${hash}`, async (signal) =>
    traceOf(
      await rpc<RawFrame>('debug_traceTransaction', [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }], signal),
      block,
    ),
  )
  const changed = useTrace(name, block)
  if (error !== undefined) return <Trouble error={error} />
  if (mined === undefined || changed.value === undefined) return null
  return <Compared a={{ name: 'mined', hash, trace: mined }} b={{ name: 'what if', hash: name, trace: changed.value }} />
}

function Result({
  name,
  block,
  height,
  view,
  replay,
}: {
  readonly name: string
  readonly block: string
  readonly height: string
  readonly view: View
  readonly replay: string | undefined
}): JSX.Element {
  const trace = useTrace(name, block)
  const index = useStepIndex(name, trace.value === undefined ? undefined : block)
  usePainted(trace.value !== undefined || trace.error !== undefined ? txPath(name, view) : undefined)
  if (trace.error !== undefined) return <Trouble error={trace.error} retry={trace.reload} />
  if (trace.value === undefined) return <Wait what="Running the call" />
  const { top } = trace.value
  return (
    <>
      <Card testid="call-result">
        <dl class="facts">
          <Fact name="Outcome">
            <span class={`chip ${top.error === undefined ? 'good' : 'bad'}`} data-testid="outcome">
              {top.error === undefined ? 'succeeds' : 'fails'}
            </span>
          </Fact>
          <Fact name="Gas used" id="gas-used">
            <span data-gas={top.gasUsed}>{grouped(top.gasUsed)}</span>
          </Fact>
          <Fact name="On the state of block">{grouped(Number(height))}</Fact>
          {replay !== undefined && (
            <Fact name="Made from">
              <TxLink hash={replay} />
            </Fact>
          )}
        </dl>
      </Card>
      {replay !== undefined && <AgainstMined hash={replay} name={name} block={block} />}
      <Views hash={name} block={block} height={height} trace={trace.value} view={view} index={index} gas={undefined} />
    </>
  )
}

const ran = new Map<string, { readonly name: string; readonly block: string; readonly height: string }>()

export function CallPage({ view }: { readonly view: View }): JSX.Element {
  useStyle()
  const [form, setForm] = useState<Form>()
  const [error, setError] = useState<unknown>()
  const [, setRound] = useState(0)
  const fragment = location.hash.slice(1)
  const tx = query.value.get('tx')
  document.title = 'What if · Hearth'
  useEffect(() => {
    setError(undefined)
    const load = async (): Promise<Form> => {
      if (fragment !== '') return formOf(await whatIfIn(fragment))
      if (tx === null) return { ...EMPTY, to: query.value.get('to') ?? '' }
      const mined = await rpc<(MinedTransaction & { blockHash: string | null }) | null>('eth_getTransactionByHash', [tx])
      if (mined?.blockHash == null) throw new BadWhatIf(`There is no mined transaction ${tx.slice(0, 66)} on this node`)
      return formOf(replayOf(mined))
    }
    let isGone = false
    const show = (loaded: Form): void => {
      if (!isGone) setForm(loaded)
    }
    load().then(show, (e: unknown) => {
      if (isGone) return
      setForm(EMPTY)
      setError(
        e instanceof BadWhatIf
          ? e
          : e instanceof Error && e.name !== 'RpcFailure'
            ? new BadWhatIf(`This link does not read: ${e.message}`)
            : e,
      )
    })
    return () => {
      isGone = true
    }
  }, [fragment, tx])
  /** The run that was begun last; none once the reader has left. */
  const lastRun = useRef(0)
  useEffect(
    () => () => {
      lastRun.current = Number.NaN
    },
    [],
  )
  const run = async (): Promise<void> => {
    if (form === undefined) return
    const mine = ++lastRun.current
    setError(undefined)
    try {
      const given = whatIfOfForm(form)
      const { whatIf, height } = await pinned(given)
      const next = await fragmentOf(given)
      if (mine !== lastRun.current) return
      ran.set(next, { name: register(next, whatIf), block: whatIf.block, height })
      if (next === fragment && query.value.get('tx') === null) setRound((round) => round + 1)
      else go(`/call#${next}`)
    } catch (e) {
      if (mine === lastRun.current) setError(e)
    }
  }
  const shown = ran.get(fragment)
  usePainted(shown === undefined && form !== undefined ? `/call${location.search}` : undefined)
  if (form === undefined) return <Wait what="Reading the form" />
  const asJson = (): string => JSON.stringify(whatIfOfForm(form), null, 2)
  const outOf = (make: () => string): string => {
    try {
      return make()
    } catch {
      return ''
    }
  }
  return (
    <>
      <div class="title">
        <div class="what">
          <h1>What if</h1>
          <span class="soft">
            {form.replay === undefined
              ? 'A call that is not mined, on the state of any block'
              : 'A mined transaction on the state before it, with changes'}
          </span>
        </div>
      </div>
      <Card
        title="Call"
        more={
          <>
            {(
              [
                ['curl', (whatIf) => curlOf(whatIf, location.origin)],
                ['cast', (whatIf) => castOf(whatIf, location.origin)],
                ['viem', viemOf],
              ] as const satisfies readonly (readonly [string, (whatIf: WhatIf) => string])[]
            ).map(([name, textOf]) => (
              <span key={name} class="nowrap faint">
                {name}
                <Copy text={outOf(() => textOf(whatIfOfForm(form)))} what={`${name} command`} />
              </span>
            ))}
            <a class="button small" href={shown === undefined ? '/tracer' : `/tracer#${fragment}`}>
              Tracer
            </a>
            <button type="button" class="button small" onClick={() => save('what-if.json', 'application/json', outOf(asJson))}>
              Save
            </button>
          </>
        }
      >
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void run()
          }}
        >
          <CallForm form={form} onChange={setForm} />
          <div class="form-end">
            <button type="submit" class="button main" data-testid="call-run">
              Run
            </button>
            {fragment.startsWith('local-') && <span class="faint">too large for a link: save it as a file</span>}
          </div>
        </form>
      </Card>
      {error !== undefined && <Said error={error} />}
      {shown !== undefined && <Result key={`${shown.name} ${shown.block}`} {...shown} view={view} replay={form.replay} />}
    </>
  )
}
