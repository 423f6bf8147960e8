// The successive chains of one run of hearth dev: a reset may fork another node, or begin at
// another block.
import fs from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../config/index.ts'
import type { NodeConfig } from '../../core/config.ts'
import { CoreError } from '../../core/error.ts'
import { openNode } from '../../core/native.ts'
import type { Core, Forking } from '../../core/port.ts'
import { replaceable } from '../../core/replaceable.ts'
import { type FindOptions, findOrigin, forkedCore, type Origin, shownUrl } from '../../fork/index.ts'
import { forkConfig } from './fork.ts'

/** What a run began with. */
export interface ChainStart {
  /** Its configuration, without an origin. */
  readonly config: NodeConfig
  readonly settings: Settings
  /** What it is a fork of. */
  readonly origin: Origin | undefined
  /** How further origins are found. */
  readonly find: FindOptions
  /** The home of a chain that is kept; it stays the home of that chain. */
  readonly keptHome: string | undefined
}

/** Where the chains lie that came after the first one: in its home, which goes with the process. */
const CHAINS_FOLDER = 'chains'

/** Called each time that another chain has replaced the last one. */
type OnReplaced = () => void

/** A core, as an open chain. */
interface OpenChain {
  readonly origin: Origin | undefined
  /** Folder to be removed with it. */
  readonly folder: string | undefined
}

const asCoreError = (e: unknown): never => {
  throw new CoreError('origin', (e as Error).message)
}

/** The chains of a run. */
export class Chains {
  /** The chain of the moment. */
  readonly core: Core
  private readonly chainStart: ChainStart
  private readonly replace: (next: Core) => Promise<Core>
  private readonly onReplaced: OnReplaced
  private now: OpenChain
  private made = 0
  /** What is done to chains is done one after the other. */
  private turn: Promise<unknown> = Promise.resolve()

  /** `core`: that of the first chain. */
  constructor(chainStart: ChainStart, core: Core, onReplaced: OnReplaced) {
    const { origin } = chainStart
    const first = origin === undefined ? core : forkedCore(core, origin)
    const { core: face, replace } = replaceable(first, {
      resetTo: (forking) => this.inTurn(() => this.reset(forking)),
      originUrl: () => this.now.origin && shownUrl(this.now.origin.url),
      moveOrigin: (url) => this.inTurn(async () => await this.now.origin?.moveTo(url).catch(asCoreError)),
    })
    this.chainStart = chainStart
    this.replace = replace
    this.onReplaced = onReplaced
    this.now = { origin, folder: undefined }
    this.core = face
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work)
    this.turn = mine.catch(() => undefined)
    return mine
  }

  private async reset(forking: Forking | undefined): Promise<void> {
    const wanted = await this.wanted(forking)
    if (wanted === this.now.origin) await this.core.request('reset', undefined)
    else await this.begin(wanted)
  }

  /** The remote node of the requested fork; the current object if it is unchanged. */
  private async wanted(forking: Forking | undefined): Promise<Origin | undefined> {
    const { origin } = this.now
    if (forking === undefined) return this.chainStart.origin
    const { block } = forking
    const url = forking.url ?? origin?.url
    if (url === undefined) {
      if (block === undefined) return undefined
      throw new CoreError('invalid_params', 'Forking not enabled and RPC URL not provided to start forking')
    }
    if (origin !== undefined && forking.url === undefined && block === undefined) return origin
    const number = block === undefined ? undefined : Number(block)
    if (number !== undefined && !Number.isSafeInteger(number))
      throw new CoreError('invalid_params', `forking.blockNumber: no chain has a block ${block}`)
    const found = await findOrigin(url, number, this.chainStart.find).catch(asCoreError)
    const isSame = found.url === origin?.url && found.chainId === origin.chainId && found.block.hash === origin.block.hash
    return isSame ? origin : found
  }

  /** Opens another chain, and only once it is there closes the one that was. */
  private async begin(origin: Origin | undefined): Promise<void> {
    const { config, settings, keptHome } = this.chainStart
    if (keptHome !== undefined) {
      const message = `${keptHome} keeps its chain: only hearth dev without --home becomes a fork of something else while it runs`
      throw new CoreError('unsupported', message)
    }
    const folder = path.join(config.home, CHAINS_FOLDER, String(++this.made))
    fs.mkdirSync(folder, { recursive: true })
    const own = { ...config, home: folder }
    let [next, old]: [Core | undefined, Core | undefined] = [undefined, undefined]
    try {
      const made = origin === undefined ? own : forkConfig(own, settings, origin)
      next = await openNode(made, origin?.ask)
      old = await this.replace(origin === undefined ? next : forkedCore(next, origin))
    } catch (e) {
      await next?.close().catch(() => undefined)
      fs.rmSync(folder, { recursive: true, force: true })
      throw e
    }
    const last = this.now
    this.now = { origin, folder }
    this.onReplaced()
    // Unfinished work of the last chain is dropped.
    await old.close().catch(() => undefined)
    if (last.folder !== undefined) fs.rmSync(last.folder, { recursive: true, force: true })
  }
}
