// Other development nodes as peers. They prove the tests: if a peer disagrees or is late, a line
// reports it, and no test fails.
import { beforeAll, it } from 'vitest'
import { type DevNode, FULL, missing } from './dev-node.ts'

type Name = DevNode['name']

export { FULL }

/** How long another node may take for a test, in milliseconds. */
const PEER_MS_MAX = 200_000

/** The nodes that a suite runs on: Hearth, and in the full run the peer if it is installed. */
export function nodesBeside(peer: Exclude<Name, 'hearth'>, suite: string): readonly Name[] {
  const why = missing(peer)
  if (why === undefined) return ['hearth', peer]
  console.log(`skipped: ${suite} on ${peer}: ${why}`)
  return ['hearth']
}

/**
 * Runs a part of a test that depends on a peer: if it fails or takes too long, it prints a line and
 * resolves to nothing.
 */
export async function onPeer<T>(name: Name, what: string, run: () => Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not in ${PEER_MS_MAX} ms`)), PEER_MS_MAX)
  })
  try {
    return await Promise.race([run(), late])
  } catch (e) {
    const [why = ''] = (e instanceof Error ? e.message : String(e)).split('\n')
    console.log(`peer: ${name}: ${what}: ${why.slice(0, 300)}`)
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

/** `beforeAll` and `it` of a suite on a node: on ours they decide, on another one they report. */
export function testsOn(name: Name) {
  const decided = (what: string, run: () => Promise<void>) => async (): Promise<void> => {
    if (name === 'hearth') await run()
    else await onPeer(name, what, run)
  }
  return {
    before: (run: () => Promise<void>): void => beforeAll(decided('its start', run)),
    test: (title: string, run: () => Promise<void>, timeoutMs?: number): void => it(title, decided(title, run), timeoutMs),
  }
}
