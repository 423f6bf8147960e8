// The program of an isolate as one text: the modules of inside/ behind each other in one strict function, since a snapshot takes scripts alone.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** Modules of inside/, each behind those that it uses while it is evaluated. */
const MODULES = [
  'primordials',
  'fields',
  'opcodes',
  'text',
  'interrupt',
  'numbers',
  'bytes',
  'keccak',
  'big',
  'keys',
  'state',
  'globals',
  'chunk',
  'frames',
  'log',
  'db',
  'calls',
  'result',
  'hooks',
  'events',
  'index',
] as const

const IMPORT = /^import\b[^;]*;\n/gm
const EXPORT_LIST = /^export \{[^}]*\};?\n/gm
const EXPORT = /^export (?=const|let|function|class)/gm

const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/gm

const scriptOf = (file: string): string =>
  fs.readFileSync(file, 'utf8').replaceAll(IMPORT, '').replaceAll(EXPORT_LIST, '').replaceAll(EXPORT, '').replaceAll(SOURCE_MAP, '')

/** The scripts that make an isolate's snapshot, in order: the library of big integers, then the inside. */
export function insideScripts(): { code: string; filename: string }[] {
  const library = createRequire(import.meta.url).resolve('big-integer/BigInteger.min.js')
  const folder = path.join(import.meta.dirname, 'inside')
  const modules = MODULES.map((name) => scriptOf(path.join(folder, `${name}.js`)))
  return [
    { code: fs.readFileSync(library, 'utf8'), filename: 'bigInt' },
    { code: `(() => {'use strict';\n${modules.join('')}})()`, filename: 'inside' },
  ]
}
