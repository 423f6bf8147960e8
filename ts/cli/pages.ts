// The pages of docs/ that come out of tables.
import fs from 'node:fs'
import path from 'node:path'
import { settingsPage } from '../config/index.ts'
import { metricsCatalog } from '../core/native.ts'
import { metricsPage } from '../metrics/page.ts'
import { devMethodsPage } from '../rpc/dev-names.ts'
import { errorsPage } from '../rpc/errors-page.ts'
import { OWN_METHODS } from '../rpc/own-methods.ts'
import { type Example, rpcPage } from '../rpc/page.ts'
import { commandsPage } from './commands-page.ts'
import { wrapPage } from './wrap-page.ts'

/** The files of docs/examples whose requests docs/rpc.md shows and a test runs. */
const EXAMPLES = ['rpc.json', 'rpc-subscriptions.json', 'rpc-engine.json'] as const

const examples = (): readonly Example[] =>
  EXAMPLES.flatMap(
    (file) => JSON.parse(fs.readFileSync(path.resolve(import.meta.dirname, '../../docs/examples', file), 'utf8')) as readonly Example[],
  )

const TEXTS: Readonly<Record<string, () => string>> = {
  'settings.md': settingsPage,
  'rpc.md': () => rpcPage(OWN_METHODS, examples()),
  'errors.md': errorsPage,
  'dev-methods.md': devMethodsPage,
  'metrics.md': () => metricsPage(metricsCatalog()),
  'commands.md': commandsPage,
}

/** Every page by its file below docs/. */
export const PAGES: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.entries(TEXTS).map(([file, text]) => [file, () => wrapPage(text())]),
)
