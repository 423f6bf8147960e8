// Clients that are too heavy for every install, where this version of Node runs them.
import { type Installed, installed } from './install.mjs'

export type { Installed }

/** The packages of the folder of that name beside this file, installed if need be. */
export async function clients(set: 'node20' | 'node22' | 'solc' | 'cosmos'): Promise<Installed> {
  const [needed, least] = set === 'node22' ? [[22, 13], '22.13'] : [[20, 20], '20.20']
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  const [wantMajor, wantMinor] = needed as [number, number]
  if (major < wantMajor || (major === wantMajor && minor < wantMinor))
    return { missing: `Node ${least} is needed, this is ${process.versions.node}` }
  return await installed(set)
}
