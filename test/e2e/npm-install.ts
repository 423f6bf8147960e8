// An install by npm, which is bounded.
import { spawnSync } from 'node:child_process'

/** Time for one attempt in milliseconds; an install takes 2 s, 20 on a busy machine. */
const ATTEMPT_MS_MAX = 180_000

/** Attempts: npm 11 was seen to hang while it unpacked packages out of its cache. */
const ATTEMPTS = 3

/** Runs `npm install`. An attempt that hangs is killed and repeated. */
export function npmInstall(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): { readonly status: number | null; readonly out: string } {
  for (let attempt = 1; ; attempt++) {
    const began = Date.now()
    // npm was seen to outlive SIGTERM.
    const options = { timeout: ATTEMPT_MS_MAX, killSignal: 'SIGKILL', maxBuffer: 1 << 28 } as const
    const ran = spawnSync('npm', ['install', ...args], { ...options, cwd, env, encoding: 'utf8' })
    const out = `${ran.stdout}${ran.stderr}`
    if (ran.signal !== 'SIGKILL' || attempt === ATTEMPTS) return { status: ran.status, out }
    console.log(`npm install was killed after ${Math.round((Date.now() - began) / 1000)} s, and is repeated: ${out}`)
  }
}
