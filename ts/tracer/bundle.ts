// The program of an isolate as one text: the modules of inside/ behind each other in one strict
// function, as a context runs it.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { opcodeNames } from './opcode-names.ts'

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
  'seal',
  'warm',
  'index',
] as const

const IMPORT = /^import\b[^;]*;\n/gm
const EXPORT_LIST = /^export \{[^}]*\};?\n/gm
const EXPORT = /^export (?=const|let|function|class)/gm

const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/gm

const scriptOf = (file: string): string =>
  fs.readFileSync(file, 'utf8').replaceAll(IMPORT, '').replaceAll(EXPORT_LIST, '').replaceAll(EXPORT, '').replaceAll(SOURCE_MAP, '')

/**
 * Modules that only an isolate has, and the one that stands in their place in a process of its own
 * hooks.
 */
const OF_ISOLATES: readonly string[] = ['keccak', 'globals', 'seal', 'warm', 'index']
const OF_HOOKS = 'own'

/** The modules behind each other. */
function modulesOf(names: readonly string[]): string {
  const folder = path.join(import.meta.dirname, 'inside')
  return names.map((name) => scriptOf(path.join(folder, `${name}.js`))).join('')
}

/**
 * The text of a function that takes the library of big integers and the names of opcodes, and gives
 * what runs hooks in this realm. Each call of it gives another one that shares nothing with those
 * before.
 */
export function hooksScript(): string {
  const names = [...MODULES.filter((name) => !OF_ISOLATES.includes(name)), OF_HOOKS]
  return `((LIBRARY, OPCODE_NAMES) => {'use strict';\n${modulesOf(names)}\nreturn own})`
}

/**
 * The script that furnishes a context, to be compiled once an isolate. Its value is the function to
 * call. It holds the library of big integers as a text.
 *
 * A snapshot of a furnished context would be quicker still, but in the isolates that isolated-vm
 * makes under Node 20, strings of one character come out of a snapshot as other strings.
 */
export function insideScript(): string {
  const library = fs.readFileSync(createRequire(import.meta.url).resolve('big-integer/BigInteger.min.js'), 'utf8')
  const given = [library, opcodeNames()].map((value) => JSON.stringify(value))
  return `((LIBRARY, OPCODE_NAMES) => {'use strict';\n${modulesOf(MODULES)}\nreturn inside})(${given.join(',')})`
}
