// Checks the prose of the project, as a part of `npm run lint`.
//
//   node test/prose/run.mjs            prints findings with file and line; exits with 1 if any
//   node test/prose/run.mjs --lower    writes the counts of old findings that have fallen
//
// Pages, help texts, documentation of settings and methods, and errors have no findings.
// old-findings.json counts those in comments and in names of tests by directory: a count may fall
// and not rise. exceptions.json lists exceptions, each with its reason.
import fs from 'node:fs'
import path from 'node:path'
import { check } from './check.mjs'
import { directoryOf, trackedFiles } from './files.mjs'

const ROOT = path.resolve(import.meta.dirname, '../..')
const OLD = path.join(import.meta.dirname, 'old-findings.json')

/** @type {readonly { file: string, kind: string, found?: string, reason: string }[]} */
const exceptions = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'exceptions.json'), 'utf8'))
/** @type {Record<string, { word: number, width: number, name: number }>} */
const old = JSON.parse(fs.readFileSync(OLD, 'utf8'))

const NONE = { word: 0, width: 0, name: 0 }

const show = ({ file, line, kind, found, advice }) => console.log(`${file}:${line}: ${kind}: ${found} (${advice})`)

const used = new Set()
const findings = check(ROOT, trackedFiles(ROOT)).filter(({ file, kind, found }) => {
  const exception = exceptions.find((e) => e.file === file && e.kind === kind && (e.found ?? found) === found)
  used.add(exception)
  return exception === undefined
})

let failed = false
for (const finding of findings.filter(({ inComment }) => !inComment)) {
  show(finding)
  failed = true
}
for (const exception of exceptions) {
  if (used.has(exception)) continue
  console.log(`test/prose/exceptions.json: ${exception.file} has no such ${exception.kind} any more: remove the row`)
  failed = true
}

const counts = {}
for (const finding of findings.filter(({ inComment }) => inComment)) {
  const directory = directoryOf(finding.file)
  counts[directory] ??= { ...NONE }
  counts[directory][finding.kind]++
}
const lowered = {}
for (const directory of [...new Set([...Object.keys(old), ...Object.keys(counts)])].sort()) {
  const before = { ...NONE, ...old[directory] }
  const now = counts[directory] ?? NONE
  for (const kind of ['word', 'width', 'name']) {
    if (now[kind] <= before[kind]) continue
    failed = true
    console.log(
      `${directory}: ${now[kind]} findings of kind ${kind} in comments and names of tests, ${before[kind]} are old; new ones are among these:`,
    )
    for (const finding of findings) if (finding.inComment && finding.kind === kind && directoryOf(finding.file) === directory) show(finding)
  }
  const least = { word: Math.min(before.word, now.word), width: Math.min(before.width, now.width), name: Math.min(before.name, now.name) }
  if (least.word + least.width + least.name > 0) lowered[directory] = least
}
if (process.argv.includes('--lower')) fs.writeFileSync(OLD, `${JSON.stringify(lowered, null, 2)}\n`)
else if (JSON.stringify(lowered) !== JSON.stringify(old)) console.log('old findings have become fewer: node test/prose/run.mjs --lower')

process.exit(failed ? 1 : 0)
