// Clients that are too heavy for every install, where this version of Node runs them.
import { type Installed, installed } from './install.mjs'

export type { Installed }

/** The clients of `node20` or `node22`, installed if need be. */
export async function clients(set: 'node20' | 'node22'): Promise<Installed> {
  const [needed, least] = set === 'node20' ? [[20, 20], '20.20'] : [[22, 13], '22.13']
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  const [wantMajor, wantMinor] = needed as [number, number]
  if (major < wantMajor || (major === wantMajor && minor < wantMinor))
    return { missing: `Node ${least} is needed, this is ${process.versions.node}` }
  return await installed(set)
}
