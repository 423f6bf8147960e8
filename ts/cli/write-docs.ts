// Writes the pages of docs/ that come out of tables: `npm run docs`.
import fs from 'node:fs'
import path from 'node:path'
import { PAGES } from './pages.ts'

const docs = path.resolve(import.meta.dirname, '../../docs')
fs.mkdirSync(docs, { recursive: true })
for (const [file, page] of Object.entries(PAGES)) fs.writeFileSync(path.join(docs, file), page())
