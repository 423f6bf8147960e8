// Where the state that a block reads comes from: what each source needs of an upstream, and what
// it gathers before the first attempt.
import type { BlockId, SourceName, Verified } from '../core/follow.ts'
import type { Abilities } from './abilities.ts'
import { Extra } from './extra.ts'
import { addProofs, addValues } from './fill.ts'
import { keysOf } from './keys.ts'
import type { Upstream } from './upstream.ts'

/** What a source gathered for a block. */
export interface Gathered {
  readonly witness: Buffer | undefined
  readonly extra: Extra
}

/** A block with its parent. */
export interface FollowedBlock extends BlockId {
  readonly parentHash: string
}

/** A source of the state that a block reads. */
export interface Source {
  readonly name: Exclude<SourceName, 'none'>
  readonly verified: Verified
  /** What it needs of an upstream, for messages. */
  readonly needs: string
  /** Whether an upstream can serve it. */
  readonly isOf: (abilities: Abilities) => boolean
  /** Whether it may be requested for a block; `isTip`: whether it is the upstream's newest one. */
  readonly mayServe: (abilities: Abilities, isTip: boolean) => boolean
  /** Rejects with `Lacking` or an error of the upstream where it has not what it takes. */
  readonly gather: (upstream: Upstream, block: FollowedBlock) => Promise<Gathered>
}

const always = (): boolean => true

const parentOf = ({ number, parentHash }: FollowedBlock): BlockId => ({ number: number - 1, hash: parentHash })

/** Every source, the best one first. */
export const SOURCES: readonly Source[] = [
  {
    name: 'witness',
    verified: 'proven',
    needs: 'debug_executionWitness',
    isOf: ({ witness }) => witness !== undefined,
    mayServe: ({ tipOnly }, isTip) => isTip || !tipOnly,
    gather: async (upstream, block) => ({ witness: await upstream.witness(block), extra: new Extra() }),
  },
  {
    name: 'proof',
    verified: 'proven',
    needs: 'eth_getProof, and prestateTracer in debug_traceBlockByHash or debug_traceTransaction',
    isOf: ({ proof, keys }) => proof && keys !== undefined,
    mayServe: always,
    gather: async (upstream, block) => {
      const extra = new Extra()
      const { accounts, codes } = await keysOf(upstream, block)
      for (const code of codes) extra.codes.add(code)
      await addProofs(upstream, parentOf(block), extra, accounts)
      return { witness: undefined, extra }
    },
  },
  {
    name: 'prestate',
    verified: 'executed',
    needs: 'prestateTracer in debug_traceBlockByHash or debug_traceTransaction',
    isOf: ({ keys }) => keys !== undefined,
    mayServe: always,
    gather: async (upstream, block) => {
      const extra = new Extra()
      // The values of the traces are those before each transaction; the block begins with others.
      const { accounts } = await keysOf(upstream, block)
      await addValues(upstream, parentOf(block), extra, accounts)
      return { witness: undefined, extra }
    },
  },
]

/** Which sources may be used. */
export interface SourceRules {
  readonly source: 'auto' | Source['name']
  /** The least that must be checked of each block. */
  readonly verify: Verified
}

/** The sources that an upstream can serve under these rules, the best one first. */
export const usableSources = (abilities: Abilities, { source, verify }: SourceRules): readonly Source[] =>
  SOURCES.filter((each) => (source === 'auto' || source === each.name) && (verify === 'executed' || each.verified === 'proven')).filter(
    (each) => each.isOf(abilities),
  )

/** Why an upstream can be followed by no source. */
export function noSource(abilities: Abilities, { source, verify }: SourceRules): string {
  const wanted = SOURCES.filter((each) => source === 'auto' || source === each.name)
  if (verify === 'proven' && wanted.some((each) => each.isOf(abilities))) {
    return `it can only give values without proofs (${SOURCES[2]?.needs}): blocks would be executed, but their state roots not checked. follow.verify = "executed" accepts that`
  }
  return `it has none of what follow.source = "${source}" needs: ${wanted.map((each) => each.needs).join('; or ')}`
}
