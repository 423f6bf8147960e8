// The pages of docs/ that come out of tables.
import { settingsPage } from '../config/index.ts'
import { errorsPage } from '../rpc/errors-page.ts'
import { rpcPage } from '../rpc/page.ts'
import { lifecyclePage } from './lifecycle-page.ts'

/** Every page by its file below docs/. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'settings.md': settingsPage,
  'rpc.md': rpcPage,
  'errors.md': errorsPage,
  'lifecycle.md': lifecyclePage,
}
