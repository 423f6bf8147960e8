// The rules of the upstream's chain beside ours: what eth_config (EIP-7910) says of both.
import { isDeepStrictEqual } from 'node:util'
import { objectOf } from './values.ts'

/** A fork as eth_config describes it, as far as it is compared. */
interface Fork {
  readonly activationTime: number
  readonly forkId: unknown
  readonly blobSchedule: unknown
}

/** The forks of an answer: the current one first, then the next and the last one. */
function forksOf(config: unknown): readonly Fork[] {
  const { current, next, last } = objectOf(config, 'eth_config')
  return [current, next, last].flatMap((fork) => {
    if (fork === null || fork === undefined) return []
    const { activationTime, forkId, blobSchedule } = objectOf(fork, 'a fork of eth_config')
    return [{ activationTime: Number(activationTime), forkId, blobSchedule: blobSchedule ?? null }]
  })
}

/** What anvil answers in place of an id. */
const NO_FORK_ID = '0x00000000'

const at = (time: number): string => `the fork at ${time}`

/** How the rules of another node differ from ours; undefined where both say the same. */
export function rulesDiffer(ours: unknown, theirs: unknown): string | undefined {
  const [own, other] = [forksOf(ours), forksOf(theirs)]
  const newest = Math.max(...own.map(({ activationTime }) => activationTime))
  for (const fork of other) {
    const same = own.find(({ activationTime }) => activationTime === fork.activationTime)
    if (same === undefined) {
      if (fork.activationTime > newest) return `it has ${at(fork.activationTime)}, which this node's rules do not have`
      continue
    }
    if (fork.forkId !== NO_FORK_ID && same.forkId !== fork.forkId)
      return `the fork id of ${at(fork.activationTime)} is ${fork.forkId}, and ${same.forkId} here`
    if (!isDeepStrictEqual(same.blobSchedule, fork.blobSchedule)) return `the blob schedule of ${at(fork.activationTime)} is another one`
  }
  return undefined
}
