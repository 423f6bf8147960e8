// Loaded into a node by a test (NODE_OPTIONS=--require): a request whose text has "spin" keeps the main thread busy from after its method
// was called until the file SPIN_UNTIL is there, as a fault in a handler would.
const fs = require('node:fs')

const { parse } = JSON
const until = process.env.SPIN_UNTIL

function spin() {
  fs.writeSync(2, 'the main thread spins\n')
  while (!fs.existsSync(until));
}

JSON.parse = (text, reviver) => {
  // What waits for the next tick runs behind the event that brought the request, before any other one.
  if (typeof text === 'string' && text.includes('"spin"')) process.nextTick(spin)
  return parse(text, reviver)
}
