// The first contact with a node that is to be followed, for a command that cannot do without it.
import { type Abilities, abilitiesOf } from './abilities.ts'
import { noSource, type SourceRules, usableSources } from './sources.ts'
import { FollowError, type Upstream } from './upstream.ts'

/** What a node can do. Rejects with `FollowError` where it does not answer, or gives no source. */
export async function reached(upstream: Upstream, rules: SourceRules): Promise<Abilities> {
  let abilities: Abilities
  try {
    abilities = await abilitiesOf(upstream)
  } catch (e) {
    throw new FollowError(`cannot follow ${upstream.shown}: ${(e as Error).message}`)
  }
  if (usableSources(abilities, rules).length === 0) throw new FollowError(`cannot follow ${upstream.shown}: ${noSource(abilities, rules)}`)
  upstream.abilities = abilities
  return abilities
}
