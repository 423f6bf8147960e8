// Required into a node: writes the names of the modules of Node that it has loaded to a file, when
// it says that it is ready.
const fs = require('node:fs')

const write = process.stdout.write
process.stdout.write = function (text, ...rest) {
  if (/ready/.test(String(text))) fs.writeFileSync(process.env.LOADED_MODULES, JSON.stringify(process.moduleLoadList))
  return write.call(this, text, ...rest)
}
