// Writes the bill of materials of a release to the given path:
// `node native/setup/sbom/run.mjs dist/npm/hearth.cdx.json`.
import fs from 'node:fs'
import { billOfMaterials } from './bom.mjs'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('hearth sbom: no path is given: node native/setup/sbom/run.mjs FILE')
  process.exit(2)
}
fs.writeFileSync(path, `${billOfMaterials()}\n`)
