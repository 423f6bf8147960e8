// Contracts of a trace by artifacts: those of the node, and those that the reader gave, which stay
// in the browser.
import {
  type ContractAnswer,
  contractOf,
  contractsAt,
  type Line,
  labelsOf,
  type Named,
  type Problem,
  partValue,
  readLayout,
  SlotNames,
  type SourceAnswer,
  SourceLines,
  signaturesOf,
  wantedOf,
} from '../../explore/artifacts/index.ts'
import { type Frame, isCreation, type Preimages, printable, type SlotChange } from '../../explore/index.ts'
import { artifactNames } from '../store/names.ts'
import { ask, RpcFailure, rpcOr } from '../store/rpc.ts'
import type { Trace } from '../tx/load.ts'
import { isOwn, matchOwn, ownKnown, ownSource } from './own-artifacts.ts'

/** Addresses of one request; the node takes no more. */
const ADDRESSES_MAX = 256

/** What lies in a slot, with its value before and after. */
export interface PartChange {
  readonly name: string
  readonly type: string
  readonly before: string
  readonly after: string
}

/** The contracts of a trace. */
export interface Contracts {
  readonly named: Named
  /** How many contracts the artifacts have. */
  readonly known: number
  /** Files of the artifacts that were passed over. */
  readonly problems: readonly Problem[]
  /** The contract whose code a frame runs. */
  readonly of: (frame: number) => ContractAnswer | undefined
  /** The lines of a contract. */
  readonly lines: (contract: ContractAnswer) => Promise<SourceLines | undefined>
  /** What a slot that changed holds, by the layout of its contract; `all`: also what did not. */
  readonly slot: (address: string, change: SlotChange, preimages: Preimages, all?: boolean) => PartChange[]
}

interface Identified {
  readonly addresses: Readonly<Record<string, readonly ContractAnswer[]>>
  readonly creations: readonly (readonly ContractAnswer[])[]
  readonly contracts: number
  readonly problems: readonly Problem[]
}

/** By the artifacts of the node. */
async function byNode(block: string, addresses: readonly string[], creations: readonly string[], signal: AbortSignal): Promise<Identified> {
  const body = JSON.stringify({ block, addresses, creations })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal }
  const response = await ask('/_/identify', init, 'the artifacts of the node')
  if (!response.ok) throw new RpcFailure('/_/identify', (await response.text()).slice(0, 300), response.status)
  return (await response.json()) as Identified
}

/** Prefix of the code of an account with a delegation (EIP-7702), followed by the address. */
const DELEGATION = /^0xef0100([0-9a-f]{40})$/

/** By the artifacts of the reader: codes are read, and compared here. */
async function byReader(
  block: string,
  addresses: readonly string[],
  creations: readonly string[],
  signal: AbortSignal,
): Promise<Identified> {
  const read = async (address: string): Promise<string> => (await rpcOr<string>('eth_getCode', [address, block], signal)) ?? '0x'
  const codes = await Promise.all(
    addresses.map(async (address) => {
      const own = await read(address)
      const [, delegate] = DELEGATION.exec(own) ?? []
      return delegate === undefined ? own : await read(`0x${delegate}`)
    }),
  )
  const found = await matchOwn(codes, creations)
  const byAddress = addresses.map((address, i) => [address, found.codes[i] ?? []] as const)
  return {
    addresses: Object.fromEntries(byAddress.filter(([, contracts]) => contracts.length > 0)),
    creations: found.creations,
    ...ownKnown(),
  }
}

const lines = new Map<string, Promise<SourceLines | undefined>>()

/** Contracts whose lines are kept. */
const LINES_MAX = 64

async function loadLines({ id }: ContractAnswer): Promise<SourceLines | undefined> {
  if (isOwn(id)) {
    const answer = await ownSource(id)
    return answer === undefined ? undefined : new SourceLines(answer)
  }
  const response = await ask(`/_/source/${encodeURIComponent(id)}`, {}, 'the sources of the node')
  return response.ok ? new SourceLines((await response.json()) as SourceAnswer) : undefined
}

function linesOf(contract: ContractAnswer): Promise<SourceLines | undefined> {
  const known = lines.get(contract.id) ?? loadLines(contract)
  // A failure is not kept.
  const forget = (): void => {
    if (lines.get(contract.id) === known) lines.delete(contract.id)
  }
  known.then((found) => found === undefined && forget(), forget)
  lines.delete(contract.id)
  lines.set(contract.id, known)
  if (lines.size > LINES_MAX) lines.delete(lines.keys().next().value as string)
  return known
}

/**
 * Compares the codes of a trace with artifacts, and gives the names of what it finds to all pages.
 */
export async function contractsOf(trace: Trace, isAtNode: boolean, signal: AbortSignal): Promise<Contracts> {
  const { addresses, creations } = wantedOf(trace.frames)
  const data = creations.map((creation) => creation.data)
  const byAddress = new Map<string, readonly ContractAnswer[]>()
  const byFrame = new Map<number, readonly ContractAnswer[]>()
  let known = 0
  const problems: Problem[] = []
  for (const by of [...(isAtNode ? [byNode] : []), ...(ownKnown().contracts > 0 ? [byReader] : [])]) {
    for (let i = 0; i === 0 || i < addresses.length; i += ADDRESSES_MAX) {
      const found = await by(trace.block, addresses.slice(i, i + ADDRESSES_MAX), i === 0 ? data : [], signal)
      for (const [address, contracts] of Object.entries(found.addresses)) byAddress.set(address, contracts)
      for (const [n, contracts] of found.creations.entries())
        if (contracts.length > 0) byFrame.set((creations[n] as { frame: number }).frame, contracts)
      if (i > 0) continue
      known += found.contracts
      problems.push(...found.problems)
    }
  }
  const named: Named = { addresses: byAddress, creations: byFrame }
  const { labels, signatures } = artifactNames.value
  artifactNames.value = {
    labels: new Map([...labels, ...labelsOf(named)]),
    signatures: [...new Set([...signaturesOf(named), ...signatures])],
  }
  return {
    named,
    known,
    problems,
    of: (frame) => contractOf(named, trace.frames[frame] as Frame, frame),
    lines: linesOf,
    slot: (address, change, preimages, all = false) =>
      contractsAt(named, trace.frames, address)
        .map((contract) => slotOf(contract, change, preimages, all))
        .find((parts) => parts.length > 0) ?? [],
  }
}

function slotOf({ layout: json }: ContractAnswer, { slot, before, after }: SlotChange, preimages: Preimages, all: boolean): PartChange[] {
  const layout = readLayout(json)
  if (layout === undefined) return []
  const changes = new SlotNames(layout, preimages).parts(slot).map((part) => ({
    name: printable(part.name),
    type: printable(part.type),
    before: printable(partValue(part, before)),
    after: printable(partValue(part, after)),
  }))
  // Of variables that share the slot, those that changed.
  return changes.length > 1 && !all ? changes.filter((part) => part.before !== part.after) : changes
}

/** The line of a step; undefined for code of the compiler and of contracts without lines. */
export async function lineAt(contracts: Contracts, trace: Trace, frame: number, pc: number): Promise<Line | undefined> {
  const contract = contracts.of(frame)
  const all = contract === undefined ? undefined : await contracts.lines(contract)
  return all?.at(isCreation((trace.frames[frame] as Frame).kind) ? 'creation' : 'runtime', pc)
}
