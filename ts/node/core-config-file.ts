// The configuration of the default settings, which the tests of the core read: a field that Rust
// lacks, or that no setting has, fails them.
import { resolveSettings } from '../config/index.ts'
import { nodeConfig } from './node-config.ts'

/** The file, below the folder of the project. */
export const CORE_CONFIG_FILE = 'crates/home/tests/config.json'

/** Its text. What depends on the machine is set. */
export function coreConfigText(): string {
  const { settings } = resolveSettings({})
  const fixed = {
    ...settings,
    'workers.read_threads': 2,
    'workers.heavy_threads': 2,
    'evm.max_concurrent_trace_calls': 2,
    'evm.max_concurrent_simulation_calls': 2,
    'memory.budget_bytes': 0,
    'evm.trace_allow_js_tracers': false,
  } as const
  return `${JSON.stringify(nodeConfig('/home/of/a/node', 'start', fixed), null, 2)}\n`
}
