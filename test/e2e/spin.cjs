// Loaded into a node by a test (NODE_OPTIONS=--require): requests whose text has these words keep
// the main thread busy after their method was called, as a fault in a handler would.
const fs = require('node:fs')

const { parse } = JSON
const until = process.env.SPIN_UNTIL
const parent = process.ppid

/** A test that failed must leave no busy process behind. */
function endWithParent() {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
}

/** Runs until the file SPIN_UNTIL is there. */
function spin() {
  fs.writeSync(2, 'the main thread spins\n')
  while (!fs.existsSync(until)) endWithParent()
}

/** Writes to standard error until it is read, forever if it is not. */
function flood() {
  fs.writeSync(1, 'the main thread floods\n')
  const text = 'x'.repeat(65536)
  for (;;) {
    endWithParent()
    try {
      fs.writeSync(2, text)
    } catch (e) {
      if (e.code !== 'EAGAIN') throw e
    }
  }
}

JSON.parse = (text, reviver) => {
  // Callbacks of the next tick run right after the event that brought the request, before any other
  // one.
  if (typeof text === 'string' && text.includes('"spin"')) process.nextTick(spin)
  if (typeof text === 'string' && text.includes('"flood"')) process.nextTick(flood)
  return parse(text, reviver)
}
