// Lets one process of a machine make a thing while the others that need it wait, instead of all
// making it at once.
import fs from 'node:fs'
import path from 'node:path'
import { say } from './env.mjs'

/** How often a waiting process looks again, in milliseconds. */
const POLL_MS = 1000

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // EPERM: it runs, under another user.
    return e.code === 'EPERM'
  }
}

/** Locks that this process holds. */
const held = new Set()

/**
 * The process that holds the lock; undefined where there is none, or it died and left the file
 * behind.
 */
function holder(lock) {
  try {
    const pid = Number(fs.readFileSync(lock, 'utf8'))
    // In a container numbers begin again, so that a process gets that of one which died before.
    if (pid === process.pid && !held.has(lock)) return undefined
    return Number.isInteger(pid) && pid > 0 && alive(pid) ? pid : undefined
  } catch {
    return undefined
  }
}

function take(lock) {
  const mine = `${lock}.${process.pid}`
  fs.writeFileSync(mine, String(process.pid))
  try {
    // A link appears atomically: no process reads a lock file without its pid.
    fs.linkSync(mine, lock)
    return true
  } catch (e) {
    if (e.code !== 'EEXIST') throw e
    return false
  } finally {
    fs.rmSync(mine, { force: true })
  }
}

/**
 * Runs `make` unless `file` exists, in one process at a time.
 *
 * Two processes can both run it if a dead one left a lock and both find it at the same moment, so
 * `make` must publish its result by a rename.
 *
 * @param {string} file the file that exists once the work is done
 * @param {string} what its name in the line that a waiting process prints
 * @param {() => Promise<void>} make
 */
export async function once(file, what, make) {
  const lock = `${path.dirname(file)}.lock`
  fs.mkdirSync(path.dirname(lock), { recursive: true })
  let isAnnounced = false
  while (!fs.existsSync(file)) {
    if (take(lock)) {
      held.add(lock)
      const release = () => fs.rmSync(lock, { force: true })
      process.once('exit', release)
      try {
        if (!fs.existsSync(file)) await make()
      } finally {
        process.removeListener('exit', release)
        held.delete(lock)
        release()
      }
      return
    }
    const pid = holder(lock)
    if (pid === undefined) {
      fs.rmSync(lock, { force: true })
      continue
    }
    if (!isAnnounced) say(`waiting for process ${pid}, which makes ${what}`)
    isAnnounced = true
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
