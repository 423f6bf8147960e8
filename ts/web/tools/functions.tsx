// Functions within contracts as a flame, out of the jumps that source maps mark.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { contractOfCode, type ProfiledCode, type SourceLines } from '../../explore/artifacts/index.ts'
import { type FlameOrder, functionBoxes, printable, type StackRow } from '../../explore/index.ts'
import { FlameView } from '../parts/flame.tsx'
import { Card, Segments } from '../parts/small.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { names } from '../store/names.ts'
import { useResource } from '../store/resource.ts'
import { rpc } from '../store/rpc.ts'
import type { Trace } from '../tx/load.ts'
import type { Contracts } from './contracts.ts'

/** Codes whose jumps are sent, and jumps of all of them; the node takes no more. */
const [CODES_MAX, JUMPS_MAX] = [1024, 65_536]

interface Profile {
  readonly codes: readonly ProfiledCode[]
  readonly stacks?: readonly StackRow[]
}

interface Loaded {
  readonly codes: readonly ProfiledCode[]
  readonly lines: ReadonlyMap<string, SourceLines>
  readonly stacks: readonly StackRow[]
}

const keyOf = ({ hash, init }: ProfiledCode): string => `${hash} ${init}`

async function load(hash: string, contracts: Contracts, signal: AbortSignal): Promise<Loaded> {
  const { codes }: Profile = await rpc('debug_traceGasProfile', [hash, { by: 'pc' }], signal)
  const lines = new Map<string, SourceLines>()
  const marks: { hash: string; init: boolean; in: readonly number[]; out: readonly number[] }[] = []
  let jumps = 0
  for (const code of codes) {
    const contract = contractOfCode(contracts.named, code)
    const found = contract === undefined ? undefined : await contracts.lines(contract)
    if (found === undefined) continue
    lines.set(keyOf(code), found)
    const { in: into, out } = found.jumps(code.init ? 'creation' : 'runtime')
    jumps += into.length + out.length
    // Functions of codes past the limits are not told apart.
    if (jumps > JUMPS_MAX || marks.length >= CODES_MAX) break
    marks.push({ hash: code.hash, init: code.init, in: into, out })
  }
  const profile: Profile = await rpc('debug_traceGasProfile', [hash, { by: 'pc', marks }], signal)
  return { codes: profile.codes, lines, stacks: profile.stacks ?? [] }
}

/** The name of a row: a contract where its code begins, a function behind a jump. */
function nameOf({ codes, lines }: Loaded, contracts: Contracts, [, code, pc]: StackRow): string {
  const one = codes[code] as ProfiledCode
  const found = lines.get(keyOf(one))
  const contract = contractOfCode(contracts.named, one)
  const who = contract === undefined ? names.value.address(one.addresses[0] ?? '0x') : contract.name
  if (pc === 0) return one.init ? `new ${who}` : who
  return printable(`${who}::${found?.functionAt(one.init ? 'creation' : 'runtime', pc) ?? 'code of the compiler'}`)
}

interface Props {
  readonly hash: string
  readonly trace: Trace
  readonly contracts: Contracts
}

export function Functions({ hash, trace, contracts }: Props): JSX.Element | null {
  const [order, setOrder] = useState<FlameOrder>('time')
  const { value, error, reload } = useResource(`functions ${hash} ${trace.block} ${contracts.known}`, (signal) =>
    load(hash, contracts, signal),
  )
  const boxes = useMemo(
    () => (value === undefined ? undefined : functionBoxes(value.stacks, (row) => nameOf(value, contracts, row), order)),
    [value, contracts, order],
  )
  if (error !== undefined) return <Trouble error={error} retry={reload} />
  if (boxes === undefined || value === undefined || value.lines.size === 0) return null
  return (
    <Card
      title="Functions"
      testid="functions"
      more={
        <>
          <span class="faint">from jumps: optimised code may leave functions out</span>
          <Segments
            label="Order of the functions"
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
      <FlameView boxes={boxes} label="Gas of functions" what="functions" />
    </Card>
  )
}
