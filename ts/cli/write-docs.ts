// Writes the pages of docs/ that come out of tables, and the configuration that tests of the core
// read: `npm run docs`.
import fs from 'node:fs'
import path from 'node:path'
import { tracerTable } from '../core/native.ts'
import { CORE_CONFIG_FILE, coreConfigText } from '../node/core-config-file.ts'
import { TRACER_TABLE_FILE, tracerTableText } from '../node/tracer-table-file.ts'
import { PAGES } from './pages.ts'

const root = path.resolve(import.meta.dirname, '../..')
const docs = path.join(root, 'docs')
fs.mkdirSync(docs, { recursive: true })
for (const [file, page] of Object.entries(PAGES)) fs.writeFileSync(path.join(docs, file), page())
fs.mkdirSync(path.dirname(path.join(root, CORE_CONFIG_FILE)), { recursive: true })
fs.writeFileSync(path.join(root, CORE_CONFIG_FILE), coreConfigText())
fs.writeFileSync(path.join(root, TRACER_TABLE_FILE), tracerTableText(tracerTable()))
