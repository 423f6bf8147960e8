// The environment of a release's build: the same bytes whatever folders the checkout, cargo's
// registry and the cache lie in.
import os from 'node:os'
import path from 'node:path'
import { CACHE, ROOT } from '../env.mjs'

/** Folders whose names the compilers would write into the binary, and what they write instead. */
const folders = () => [
  [process.env.CARGO_HOME ?? path.join(os.homedir(), '.cargo'), '/cargo'],
  [CACHE, '/cache'],
  [ROOT, '/hearth'],
]

/**
 * Variables for `native/setup/build.mjs`: the release profile and names of folders that are the
 * same everywhere.
 */
export function releaseEnv() {
  const c = folders().map(([from, to]) => `-ffile-prefix-map=${from}=${to}`)
  const rust = folders().map(([from, to]) => `--remap-path-prefix=${from}=${to}`)
  // The separator of cargo's encoded flags, so that folders may have spaces.
  return { HEARTH_PROFILE: 'release', CARGO_ENCODED_RUSTFLAGS: rust.join('\x1f'), CFLAGS: c.join(' '), CXXFLAGS: c.join(' ') }
}
