// How storage was used: slots by the gas that their reads and writes took, cold ones told by what they cost (EIP-2929).
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { grouped, percent } from '../parts/format.ts'
import { Card, Empty, Foreign, Wait, Who } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useResource } from '../store/resource.ts'
import { txPath } from '../store/router.ts'
import { rpc } from '../store/rpc.ts'
import type { Contracts } from '../tools/contracts.ts'
import type { Trace } from './load.ts'
import { slotName, storageOf, usePreimages } from './slots.ts'
import { Word } from './words.tsx'

/** Accesses that are looked at; of transactions with more, the first ones. */
const ACCESSES_MAX = 2000

/** Hits of one search, and steps of one page. */
const [HITS_MAX, STEPS_MAX] = [200, 1000]

/** What an access of a cold slot costs, alone or with what it writes (EIP-2929 with EIP-2200). */
const COLD: Readonly<Record<string, ReadonlySet<number>>> = { SLOAD: new Set([2100]), SSTORE: new Set([2200, 5000, 22_100]) }

interface Hit {
  readonly index: number
  readonly op: string
  readonly frame: number
}

interface Step {
  readonly index: number
  readonly frame: number
  readonly op: string
  readonly gasCost: number
  readonly stack?: readonly string[]
}

interface Access extends Step {
  readonly address: string
  readonly slot: string
}

interface Accesses {
  readonly all: readonly Access[]
  readonly cut: boolean
}

async function load(hash: string, trace: Trace, signal: AbortSignal): Promise<Accesses> {
  const hits: Hit[] = []
  let next: number | undefined = 0
  while (next !== undefined && hits.length < ACCESSES_MAX) {
    const page: { hits: Hit[]; next?: number } = await rpc(
      'debug_traceStepSearch',
      [hash, { from: next, count: HITS_MAX, where: { op: ['SLOAD', 'SSTORE'] } }],
      signal,
    )
    hits.push(...page.hits)
    next = page.next
  }
  const all: Access[] = []
  // Hits that lie close together come in one page.
  for (let i = 0; i < hits.length; ) {
    const from = (hits[i] as Hit).index
    let last = i
    while (last + 1 < hits.length && (hits[last + 1] as Hit).index - from < STEPS_MAX) last++
    const wanted = new Set(hits.slice(i, last + 1).map(({ index }) => index))
    const to = (hits[last] as Hit).index + 1
    for (let at: number | undefined = from; at !== undefined; ) {
      const page: { steps: Step[]; next?: number } = await rpc(
        'debug_traceSteps',
        [hash, { from: at, to, fields: ['stack'], stackTop: 1 }],
        signal,
      )
      for (const step of page.steps) {
        const frame = trace.frames[step.frame]
        const slot = step.stack?.at(-1)
        if (wanted.has(step.index) && frame !== undefined && slot !== undefined) all.push({ ...step, address: storageOf(frame), slot })
      }
      at = page.next
    }
    i = last + 1
  }
  return { all, cut: next !== undefined }
}

interface Heat {
  readonly address: string
  readonly slot: string
  reads: number
  writes: number
  cold: number
  gas: number
  readonly first: number
}

function heatOf({ all }: Accesses): Heat[] {
  const sums = new Map<string, Heat>()
  for (const { address, slot, op, gasCost, index } of all) {
    const key = `${address} ${BigInt(slot)}`
    const heat = sums.get(key) ?? { address, slot, reads: 0, writes: 0, cold: 0, gas: 0, first: index }
    if (op === 'SLOAD') heat.reads++
    else heat.writes++
    if (COLD[op]?.has(gasCost)) heat.cold++
    heat.gas += gasCost
    sums.set(key, heat)
  }
  return [...sums.values()].sort((a, b) => b.gas - a.gas)
}

interface Props {
  readonly hash: string
  readonly block: string
  readonly trace: Trace
  readonly contracts: Contracts | undefined
}

export function StorageHeat({ hash, block, trace, contracts }: Props): JSX.Element {
  const preimages = usePreimages(hash, block)
  const { value, error, reload } = useResource(`heat ${hash} ${block}`, (signal) => load(hash, trace, signal))
  const rows = useMemo(() => (value === undefined ? [] : heatOf(value)), [value])
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (value === undefined) return <Wait what="Looking for reads and writes of storage" />
  const all = rows.reduce((sum, { gas }) => sum + gas, 0)
  const most = rows[0]?.gas ?? 1
  return (
    <Card
      title="Storage"
      more={
        <span class="faint">
          {value.cut ? `the first ${grouped(value.all.length)} accesses, ` : ''}
          {grouped(rows.length)} slots, {grouped(all)} gas, {percent(all, trace.top.gasUsed)} of the transaction
        </span>
      }
    >
      {rows.length === 0 ? (
        <Empty title="No storage was read or written" />
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Account</th>
                <th>Slot</th>
                <th class="num">Reads</th>
                <th class="num">Writes</th>
                <th class="num">Cold</th>
                <th class="num">Gas</th>
                <th>Heat</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => {
                const name = slotName(row.address, row.slot, { preimages, contracts })
                return (
                  <tr key={`${row.address} ${row.slot}`} data-testid="heat-row">
                    <td>
                      <Who address={row.address} />
                    </td>
                    <td class="mono">
                      {name !== undefined && (
                        <span class="slot-name">
                          <Foreign text={name} />
                        </span>
                      )}
                      <Word word={row.slot} decimal={false} />
                    </td>
                    <td class="num">{row.reads}</td>
                    <td class="num">{row.writes}</td>
                    <td class="num">{row.cold}</td>
                    <td class="num">{grouped(row.gas)}</td>
                    <td>
                      <span class="heat" style={{ width: `${Math.max(2, (110 * row.gas) / most)}px` }} />
                    </td>
                    <td class="num">
                      <a href={txPath(hash, 'steps', { at: row.first })}>first step →</a>
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
