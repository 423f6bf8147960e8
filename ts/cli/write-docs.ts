// Writes the pages of docs/ that come out of tables: `npm run docs`.
import fs from 'node:fs'
import path from 'node:path'
import { settingsPage } from '../config/index.ts'
import { rpcPage } from '../rpc/page.ts'

const docs = path.resolve(import.meta.dirname, '../../docs')
fs.mkdirSync(docs, { recursive: true })
fs.writeFileSync(path.join(docs, 'settings.md'), settingsPage())
fs.writeFileSync(path.join(docs, 'rpc.md'), rpcPage())
