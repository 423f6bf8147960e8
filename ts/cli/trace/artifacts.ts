// Artifacts for `hearth trace`: the contracts of what is printed, and lines of their sources.
import fs from 'node:fs'
import type { ArtifactFolders } from '../../artifacts/index.ts'
import {
  type ContractAnswer,
  contractOf,
  contractOfCode,
  contractsAt,
  type GasByLine,
  gasByLine,
  type Line,
  labelsOf,
  lineName,
  linesText,
  type Named,
  type PcRow,
  type ProfiledCode,
  readLayout,
  SlotNames,
  SourceLines,
  signaturesOf,
  wantedOf,
} from '../../explore/artifacts/index.ts'
import { type Frame, type Preimages, preorder, printable } from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import { type RpcCall, TraceError } from './source.ts'

/** Codes that are requested at a time. */
const CODES_AT_A_TIME = 16

/** What code of an account that delegates begins with, before the address (EIP-7702). */
const DELEGATION = /^0xef0100([0-9a-f]{40})$/

/** Problems of artifacts that are printed. */
const PROBLEMS_SHOWN = 5

/** The folders of a command line; undefined where it has none. */
export function foldersOf({ lists }: Parsed): readonly string[] | undefined {
  const folders = lists.get('artifacts')
  for (const folder of folders ?? []) {
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new UsageError(`--artifacts takes a folder such as out or artifacts, not ${JSON.stringify(folder)}`)
  }
  return folders
}

async function codesOf(rpc: RpcCall, addresses: readonly string[], block: string): Promise<Map<string, string>> {
  const read = async (address: string): Promise<string> => {
    const at = (tag: string): Promise<string> => rpc('eth_getCode', address, tag) as Promise<string>
    // Of a block whose state is gone, the code as it is now: code of a contract seldom changes.
    return await at(block).catch(() => at('latest').catch(() => '0x'))
  }
  const codes = new Map<string, string>()
  for (let i = 0; i < addresses.length; i += CODES_AT_A_TIME) {
    const some = addresses.slice(i, i + CODES_AT_A_TIME)
    const found = await Promise.all(some.map(read))
    for (const [n, address] of some.entries()) {
      const [, delegate] = DELEGATION.exec(found[n] as string) ?? []
      codes.set(address, delegate === undefined ? (found[n] as string) : await read(`0x${delegate}`))
    }
  }
  return codes
}

/** A slot of an account, and what a transaction hashed. */
interface SlotPlace {
  readonly address: string
  readonly slot: string
  readonly preimages: Preimages
}

/** The contracts of traces, and their lines. */
export class TracedContracts {
  /** Of each trace, by its place. */
  private readonly named: readonly Named[]
  private readonly folders: ArtifactFolders
  private readonly lines = new Map<string, Promise<SourceLines | undefined>>()

  private constructor(folders: ArtifactFolders, named: readonly Named[]) {
    this.folders = folders
    this.named = named
  }

  /** Compares the codes of traces with artifacts. `warn` receives what was passed over. */
  static async open(
    folders: readonly string[],
    { tops, block, rpc, warn }: { tops: readonly Frame[]; block: number; rpc: RpcCall; warn: (text: string) => void },
  ): Promise<TracedContracts> {
    const { ArtifactFolders } = await import('../../artifacts/index.ts')
    const opened = new ArtifactFolders(folders)
    const wanted = tops.map((top) => wantedOf([...preorder(top)]))
    const all = [...new Set(wanted.flatMap(({ addresses }) => addresses))]
    const codes = await codesOf(rpc, all, `0x${block.toString(16)}`)
    const named: Named[] = []
    let known = { contracts: 0, problems: [] as readonly { file: string; message: string }[] }
    for (const { addresses, creations } of wanted) {
      const own = new Map(addresses.map((address) => [address, codes.get(address) ?? '0x']))
      const found = await opened.identify({ codes: own, creations: creations.map(({ data }) => data) })
      known = found
      named.push({
        addresses: new Map(Object.entries(found.addresses)),
        creations: new Map(creations.flatMap(({ frame }, i) => (found.creations[i]?.length ? [[frame, found.creations[i]] as const] : []))),
      })
    }
    for (const { file, message } of known.problems.slice(0, PROBLEMS_SHOWN)) warn(`${printable(file)}: ${printable(message)}`)
    if (known.problems.length > PROBLEMS_SHOWN) warn(`${known.problems.length - PROBLEMS_SHOWN} more files were passed over`)
    if (known.contracts === 0) warn(`there are no artifacts in ${folders.map((folder) => printable(folder)).join(' and ')}`)
    return new TracedContracts(opened, named)
  }

  /** Names of addresses. */
  get labels(): ReadonlyMap<string, string> {
    return new Map(this.named.flatMap((one) => [...labelsOf(one)]))
  }

  get signatures(): readonly string[] {
    return [...new Set(this.named.flatMap(signaturesOf))]
  }

  /** The lines of a contract. */
  private linesOf(contract: ContractAnswer): Promise<SourceLines | undefined> {
    const known = this.lines.get(contract.id) ?? this.folders.source(contract.id).then((answer) => answer && new SourceLines(answer))
    this.lines.set(contract.id, known)
    return known
  }

  /**
   * What gives the line of a step of a trace: by the number of its frame and its program counter.
   */
  async lineOf(trace: number, top: Frame): Promise<(frame: number, pc: number) => Line | undefined> {
    const frames = [...preorder(top)]
    const named = this.named[trace] as Named
    const lines = await Promise.all(
      frames.map((frame, n) => {
        const contract = contractOf(named, frame, n)
        return contract === undefined ? undefined : this.linesOf(contract)
      }),
    )
    return (frame, pc) => lines[frame]?.at(frames[frame]?.kind.startsWith('CREATE') ? 'creation' : 'runtime', pc)
  }

  /** The variable that lies in a slot, by the layout of the code that works on its account. */
  slotName(trace: number, top: Frame, { address, slot, preimages }: SlotPlace): string | undefined {
    const named = this.named[trace] as Named
    for (const contract of contractsAt(named, preorder(top), address)) {
      const layout = readLayout(contract.layout)
      const parts = layout === undefined ? [] : new SlotNames(layout, preimages).parts(slot)
      if (parts.length > 0) return parts.map(({ name }) => name).join(', ')
    }
    return undefined
  }

  /** Gas of a profile by line. */
  async gas(profile: LineProfile): Promise<{ readonly gas: GasByLine; readonly text: string }> {
    const contracts = profile.codes.map((code) =>
      this.named.map((named) => contractOfCode(named, code)).find((found) => found !== undefined),
    )
    const lines = await Promise.all(contracts.map((contract) => contract && this.linesOf(contract)))
    const gas = gasByLine(profile.rows, profile.codes, (code) => lines[profile.codes.indexOf(code)])
    const textOf = (path: string, line: number): string | undefined => {
      for (const one of lines) {
        const text = one?.textOf(path)?.[line - 1]
        if (text !== undefined) return text
      }
      return undefined
    }
    return { gas, text: linesText(gas, textOf, profile) }
  }
}

/** The answer of debug_traceGasProfile by program counter. */
export interface LineProfile {
  readonly executionGas: number
  readonly stepsGas: number
  readonly codes: readonly ProfiledCode[]
  readonly rows: readonly PcRow[]
}

/** The line of a step behind it, where it is another than that of the step before. */
export function lineSuffix(line: Line | undefined, before: Line | undefined): string {
  if (line === undefined || (before !== undefined && lineName(before) === lineName(line))) return ''
  return `  ${lineName(line)}`
}

/** A view that needs artifacts was requested without them. */
export const artifactsMissing = (flag: string): TraceError =>
  new TraceError(`${flag} needs the artifacts of the contracts: give --artifacts DIR, the folder out of Foundry or artifacts of Hardhat`)
