// Programs over the node's crate, and the configurations that they take.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { resolveSettings } from '../../../dist/config/index.js'
import { nodeConfig } from '../../../dist/node/node-config.js'
import { cargo } from '../../../native/setup/cargo.mjs'
import { ROOT, TARGET } from '../../../native/setup/env.mjs'

/** Builds an example of the node's crate for release; its path. */
export async function nodeExample(name) {
  const host = /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1]
  const build = ['build', '--release', '--quiet', '--target', host, '-p', 'hearth-node', '--example', name]
  if ((await cargo(build, { cwd: ROOT })) !== 0) throw new Error(`the example ${name} of the bench does not build`)
  return path.join(TARGET, host, 'release/examples', name)
}

/**
 * Writes the configuration of a node on a home, with settings by name. Returns the file, which is
 * `home` and `.json`.
 */
export function writeConfig(home, flags = {}) {
  const { settings } = resolveSettings({ flags: new Map(Object.entries(flags)) })
  const file = `${home}.json`
  fs.writeFileSync(file, JSON.stringify(nodeConfig(home, 'start', settings)))
  return file
}

/** What a program prints as JSON. */
export const reportOf = (program, args) => JSON.parse(execFileSync(program, args.map(String), { encoding: 'utf8', maxBuffer: 1 << 28 }))
