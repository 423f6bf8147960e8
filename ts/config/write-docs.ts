// Writes docs/settings.md from the table: `npm run docs`.
import fs from 'node:fs'
import path from 'node:path'
import { settingsPage } from './index.ts'

const file = path.resolve(import.meta.dirname, '../../docs/settings.md')
fs.mkdirSync(path.dirname(file), { recursive: true })
fs.writeFileSync(file, settingsPage())
