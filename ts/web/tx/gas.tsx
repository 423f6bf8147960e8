// Where the gas went: a flame, and the hottest functions beside it.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type FlameOrder, type Frame, flameBoxes, flameHtml, flameSvg, folded, hotFunctions, speedscope } from '../../explore/index.ts'
import { FlameView } from '../parts/flame.tsx'
import { grouped, percent } from '../parts/format.ts'
import { late } from '../parts/lazy.tsx'
import { Card, Fact, Foreign, Meter, Segments } from '../parts/small.tsx'
import { names } from '../store/names.ts'
import { setQuery, txPath } from '../store/router.ts'
import type { Contracts } from '../tools/contracts.ts'
import type { GasFacts, Trace } from './load.ts'

const Functions = late(async () => (await import('../tools/functions.tsx')).Functions, true)

/** Functions that are listed. */
const HOT_MAX = 100

/** Hands a text to the reader as a file. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

interface Props {
  readonly hash: string
  readonly trace: Trace
  readonly selected: number
  readonly gas: GasFacts | undefined
  readonly contracts: Contracts | undefined
}

export function Gas({ hash, trace, selected, gas, contracts }: Props): JSX.Element {
  const [order, setOrder] = useState<FlameOrder>('time')
  const known = names.value
  const boxes = useMemo(() => flameBoxes([trace.top], known, order), [trace, known, order])
  const hot = useMemo(() => hotFunctions(trace.frames, known), [trace, known])
  const all = hot.reduce((sum, one) => sum + one.gas, 0)
  const frame = trace.frames[selected] as Frame
  const short = hash.slice(0, 10)
  return (
    <>
      {gas !== undefined && (
        <Card>
          <dl class="facts">
            <Fact name="Intrinsic gas" id="intrinsic-gas">
              <span data-gas={gas.intrinsic}>{grouped(gas.intrinsic)}</span>
            </Fact>
            <Fact name="Execution" id="execution-gas">
              <span data-gas={gas.execution}>{grouped(gas.execution)}</span>
            </Fact>
            <Fact name={gas.refund < 0 ? 'Up to the floor price of its data' : 'Refund'} id="refund">
              <span data-gas={gas.refund}>
                {gas.refund === 0 ? '0' : gas.refund < 0 ? `+${grouped(-gas.refund)}` : `−${grouped(gas.refund)}`}
              </span>
            </Fact>
          </dl>
        </Card>
      )}
      <Card
        title="Gas"
        more={
          <>
            <button
              type="button"
              class="button small"
              onClick={() => save(`${short}.svg`, 'image/svg+xml', flameSvg([trace.top], known, hash))}
            >
              SVG
            </button>
            <button type="button" class="button small" onClick={() => save(`${short}.html`, 'text/html', flameHtml(boxes, hash))}>
              HTML
            </button>
            <button
              type="button"
              class="button small"
              onClick={() => save(`${short}.speedscope.json`, 'application/json', speedscope([trace.top], known, hash))}
            >
              speedscope
            </button>
            <button type="button" class="button small" onClick={() => save(`${short}.folded`, 'text/plain', folded([trace.top], known))}>
              Collapsed
            </button>
            <Segments
              label="Order of the flame"
              value={order}
              onChange={setOrder}
              options={[
                ['time', 'In order'],
                ['left-heavy', 'Left-heavy'],
              ]}
            />
          </>
        }
      >
        <FlameView
          boxes={boxes}
          label="Gas of the transaction"
          onPick={(picked) => setQuery({ frame: picked.depth === 0 ? undefined : picked.id })}
        />
        {selected > 0 && (
          <div class="flame-said">
            <a href={txPath(hash, 'calls', { frame: frame.id })}>Call {frame.id} in the tree →</a>
          </div>
        )}
      </Card>
      {contracts !== undefined && <Functions hash={hash} trace={trace} contracts={contracts} />}
      <Card title="Hottest functions" more={<span class="faint">own gas, calls of one function together</span>}>
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Function</th>
                <th class="num">Calls</th>
                <th class="num">Failed</th>
                <th class="num">Own gas</th>
                <th class="num">Share</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {hot.slice(0, HOT_MAX).map((one) => (
                <tr key={one.name} data-testid="hot-row">
                  <td class="mono">
                    <a href={txPath(hash, 'calls', { frame: one.first.id })}>
                      <Foreign text={one.name} />
                    </a>
                  </td>
                  <td class="num">{grouped(one.calls)}</td>
                  <td class="num">{one.failed === 0 ? <span class="faint">0</span> : <span class="bad">{grouped(one.failed)}</span>}</td>
                  <td class="num">{grouped(one.gas)}</td>
                  <td class="num">{percent(one.gas, all)}</td>
                  <td>
                    <Meter part={all === 0 ? 0 : one.gas / all} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  )
}
