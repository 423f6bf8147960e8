// How long each step of set-up takes: one line when a step begins, with the time that is expected,
// and one when it ends, with what it took.
//
// What is expected is what the step took when it last ran on this machine, out of set-up-times.json
// in the cache; before the first run it is what it took on two cores of a server. Steps that find
// their work done say nothing.
import fs from 'node:fs'
import path from 'node:path'
import { CACHE, say } from './env.mjs'

/**
 * Seconds that each step takes from nothing on two cores, where this machine has no time of its
 * own.
 */
const DEFAULT_SECONDS = {
  'npm packages': 50,
  libclang: 10,
  RocksDB: 165,
  'isolated-vm': 40,
  'core (release)': 245,
  'core (dev)': 240,
  TypeScript: 5,
  'the explorer': 3,
}

const FILE = path.join(CACHE, 'set-up-times.json')

/** The times of the last runs; none where the file is missing or is no JSON object of numbers. */
function lastTimes() {
  try {
    const read = JSON.parse(fs.readFileSync(FILE, 'utf8'))
    return Object.fromEntries(Object.entries(read).filter(([, seconds]) => typeof seconds === 'number' && Number.isFinite(seconds)))
  } catch {
    return {}
  }
}

/** Seconds as a reader says them: 45 s, 2 min 30 s. */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds))
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60]
  return minutes === 0 ? `${rest} s` : rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`
}

/** Seconds that a step is expected to take. */
export const expected = (step) => lastTimes()[step] ?? DEFAULT_SECONDS[step]

/**
 * Runs the work of a step between its two lines; the time becomes what the next run expects.
 *
 * @template T
 * @param {string} step a name of `DEFAULT_SECONDS`
 * @param {() => T | Promise<T>} work
 * @param {{ keep?: boolean, note?: string }} options `keep: false` where the work is smaller than
 *   from nothing: its time says nothing about
 *   the next one's, and no time is expected of it; `note` ends the first line
 */
export async function timed(step, work, { keep = true, note = '' } = {}) {
  const about = keep ? `, about ${duration(expected(step))}` : ''
  say(`${step}: begins${about}${note}`)
  const began = performance.now()
  const result = await work()
  const seconds = (performance.now() - began) / 1000
  say(`${step}: done in ${duration(seconds)}${keep ? ` of about ${duration(expected(step))}` : ''}`)
  if (keep) remember(step, seconds)
  return result
}

/**
 * Notes what a step took. Processes that end at the same moment may lose one of the two times,
 * which costs a worse guess.
 */
function remember(step, seconds) {
  try {
    fs.mkdirSync(CACHE, { recursive: true })
    fs.writeFileSync(`${FILE}.${process.pid}`, `${JSON.stringify({ ...lastTimes(), [step]: Math.round(seconds) }, null, 2)}\n`)
    fs.renameSync(`${FILE}.${process.pid}`, FILE)
  } catch (e) {
    say(`the time of ${step} was not kept: ${e.message}`)
  }
}
