// Whether a node serves the explorer, and what its pages show of the node.
import type { Settings } from '../config/index.ts'
import type { Mode } from '../core/config.ts'
import type { Core } from '../core/port.ts'
import type { ServerHooks } from '../server/index.ts'
import { clientVersion } from './version.ts'

/**
 * Whether the setting, or the command, switches the explorer on; it is on the listener of HTTP
 * alone.
 */
export function servesExplorer(mode: Mode, settings: Settings): boolean {
  const asked = settings['evm.explorer']
  return settings['evm.http_enabled'] && (asked === 'auto' ? mode === 'dev' : asked)
}

/** What the server needs for the explorer; undefined where it is off. */
export function explorerSource(mode: Mode, settings: Settings, core: () => Core | undefined): ServerHooks['explorer'] {
  if (!servesExplorer(mode, settings)) return undefined
  return { core, mode, version: clientVersion(), baking: settings['evm.trace_bake_enabled'] }
}
