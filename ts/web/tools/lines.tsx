// Gas by line of Solidity.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import {
  contractOfCode,
  type GasByLine,
  gasByLine,
  type LineGas,
  type PcRow,
  type Problem,
  type ProfiledCode,
  type SourceLines,
} from '../../explore/artifacts/index.ts'
import { printable } from '../../explore/index.ts'
import { grouped, percent } from '../parts/format.ts'
import { Card, Empty, Fact, Foreign, Meter, Wait } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useResource } from '../store/resource.ts'
import { rpc } from '../store/rpc.ts'
import type { Trace } from '../tx/load.ts'
import type { Contracts } from './contracts.ts'
import { GiveArtifacts } from './give.tsx'
import { useStyle } from './style.ts'

/** Lines of a source that are drawn; the rest is cut, and said so. */
const LINES_MAX = 3000

/** Lines in the list of those that cost most. */
const HOT_MAX = 20

interface Profile {
  readonly executionGas: number
  readonly stepsGas: number
  readonly codes: readonly ProfiledCode[]
  readonly rows: readonly PcRow[]
}

interface Loaded {
  readonly gas: GasByLine
  readonly executionGas: number
  readonly stepsGas: number
  readonly lines: readonly SourceLines[]
}

async function load(hash: string, contracts: Contracts, signal: AbortSignal): Promise<Loaded> {
  const { codes, rows, executionGas, stepsGas }: Profile = await rpc('debug_traceGasProfile', [hash, { by: 'pc' }], signal)
  const found = await Promise.all(
    codes.map((code) => {
      const contract = contractOfCode(contracts.named, code)
      return contract === undefined ? undefined : contracts.lines(contract)
    }),
  )
  const gas = gasByLine(rows, codes, (code) => found[codes.indexOf(code)])
  return { gas, executionGas, stepsGas, lines: found.flatMap((one) => one ?? []) }
}

/** A whole source, with gas and steps beside its lines. */
function File({
  path,
  texts,
  gas,
  all,
}: {
  readonly path: string
  readonly texts: readonly string[]
  readonly gas: readonly LineGas[]
  readonly all: number
}): JSX.Element {
  const byLine = new Map(gas.map((one) => [one.line, one]))
  const most = Math.max(1, ...gas.map((one) => one.gas))
  return (
    <section
      class="annotated"
      data-testid="annotated"
      data-path={path}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
      tabIndex={0}
      aria-label={`Gas by line of ${printable(path)}`}
    >
      {texts.slice(0, LINES_MAX).map((text, i) => {
        const one = byLine.get(i + 1)
        return (
          <div key={i} class="aline" {...(one === undefined ? {} : { 'data-testid': 'gas-line', 'data-line': i + 1, 'data-gas': one.gas })}>
            <span class="num">{one === undefined ? '' : grouped(one.gas)}</span>
            <span class="num faint">{one === undefined ? '' : percent(one.gas, all)}</span>
            <span class="ln">{i + 1}</span>
            <span class="text" style={one === undefined ? {} : { '--part': String(one.gas / most) }}>
              <bdi>{printable(text.slice(0, 400).replaceAll('\t', '    '), true)}</bdi>
            </span>
          </div>
        )
      })}
      {texts.length > LINES_MAX && <div class="faint">and {grouped(texts.length - LINES_MAX)} more lines</div>}
    </section>
  )
}

function Found({
  loaded: { gas, executionGas, stepsGas, lines },
  problems,
}: {
  readonly loaded: Loaded
  readonly problems: readonly Problem[]
}): JSX.Element {
  const paths = [...new Set(gas.lines.map(({ path }) => path))]
  const [chosen, setChosen] = useState<string>()
  const path = chosen !== undefined && paths.includes(chosen) ? chosen : paths[0]
  const textsOf = (of: string): readonly string[] | undefined => lines.map((one) => one.textOf(of)).find((texts) => texts !== undefined)
  const texts = path === undefined ? undefined : textsOf(path)
  const sums = new Map<string, number>()
  for (const one of gas.lines) sums.set(one.path, (sums.get(one.path) ?? 0) + one.gas)
  const missing = lines.flatMap(({ name, files }) =>
    files.flatMap((file) => ('problem' in file ? [`${name}: ${file.path}: ${file.problem}`] : [])),
  )
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact name="Gas of lines" id="lines-gas">
            <span data-gas={stepsGas - gas.none.gas}>{grouped(stepsGas - gas.none.gas)}</span>
            <span class="faint">{percent(stepsGas - gas.none.gas, executionGas)}</span>
          </Fact>
          <Fact name="No source" id="no-source">
            <span data-gas={gas.none.gas}>{grouped(gas.none.gas)}</span>
            <span class="faint">code of the compiler and of contracts without an artifact</span>
          </Fact>
          <Fact name="Precompiles and deposits of code">{grouped(executionGas - stepsGas)}</Fact>
        </dl>
      </Card>
      {problems.length > 0 && (
        <div class="note" role="status" data-testid="artifact-problems">
          <span>
            Files that were passed over:{' '}
            <Foreign
              text={problems
                .slice(0, 3)
                .map(({ file, message }) => `${file}: ${message}`)
                .join('; ')}
            />
            {problems.length > 3 && ` and ${grouped(problems.length - 3)} more`}
          </span>
        </div>
      )}
      {missing.length > 0 && (
        <div class="note" role="status" data-testid="lines-missing">
          <span>
            <Foreign text={missing.slice(0, 3).join('; ')} />
          </span>
        </div>
      )}
      <Card title="Lines that cost most">
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th>Line</th>
                <th class="num">Steps</th>
                <th class="num">Gas</th>
                <th class="num">Share</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {gas.lines.slice(0, HOT_MAX).map((one) => (
                <tr key={`${one.path}:${one.line}`} data-testid="hot-line" data-line={one.line}>
                  <td>
                    <button type="button" class="plain" onClick={() => setChosen(one.path)}>
                      <Foreign text={`${one.path}:${one.line}`} />
                    </button>{' '}
                    <code class="faint">
                      <bdi>{printable((textsOf(one.path)?.[one.line - 1] ?? '').trim()).slice(0, 120)}</bdi>
                    </code>
                  </td>
                  <td class="num">{grouped(one.steps)}</td>
                  <td class="num">{grouped(one.gas)}</td>
                  <td class="num">{percent(one.gas, executionGas)}</td>
                  <td>
                    <Meter part={executionGas === 0 ? 0 : one.gas / executionGas} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
      {path !== undefined && texts !== undefined && (
        <Card
          title={<Foreign text={path} />}
          more={
            paths.length > 1 && (
              <select class="field" aria-label="Source" value={path} onChange={(event) => setChosen(event.currentTarget.value)}>
                {paths.map((one) => (
                  <option key={one} value={one}>
                    {printable(one)} ({grouped(sums.get(one) ?? 0)} gas)
                  </option>
                ))}
              </select>
            )
          }
        >
          <File path={path} texts={texts} gas={gas.lines.filter((one) => one.path === path)} all={executionGas} />
        </Card>
      )}
    </>
  )
}

interface Props {
  readonly hash: string
  readonly trace: Trace
  readonly contracts: Contracts | undefined
}

export function Lines({ hash, trace, contracts }: Props): JSX.Element {
  useStyle()
  const { value, error, reload } = useResource(
    contracts === undefined ? undefined : `gas by line ${hash} ${trace.block} ${contracts.known}`,
    (signal) => load(hash, contracts as Contracts, signal),
  )
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (contracts === undefined) {
    return (
      <Card title="Gas by line">
        <Empty title="No artifacts yet">
          <span>Lines of Solidity, names of slots and of custom errors come from the compiler’s artifacts.</span>
        </Empty>
        <GiveArtifacts />
      </Card>
    )
  }
  if (value === undefined) return <Wait what="Adding up the gas of lines" />
  if (value.gas.lines.length === 0) {
    return (
      <Card title="Gas by line" testid="no-lines">
        <Empty title="No line of this transaction is known">
          <span>
            The artifacts have {grouped(contracts.known)} contracts, and{' '}
            {value.lines.length === 0 ? 'none has the code of one that was called' : 'no sources of those that were called'}.
          </span>
          {value.lines.flatMap(({ files }) =>
            files.flatMap((file) =>
              'problem' in file
                ? [
                    <span key={file.path} data-testid="source-said">
                      <Foreign text={`${file.path}: ${file.problem}`} />
                    </span>,
                  ]
                : [],
            ),
          )}
        </Empty>
        <GiveArtifacts problems={contracts.problems} />
      </Card>
    )
  }
  return <Found loaded={value} problems={contracts.problems} />
}
