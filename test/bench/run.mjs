// `npm run bench -- NAME… [--write]`: measures Hearth and its peers in pairs within one run, and
// prints losing rows too. `--write` puts the tables into docs/benchmarks.md.
import { capsulesBench } from './bake/capsules.mjs'
import { commitTable } from './bake/commit.mjs'
import { hitsTables } from './bake/hits.mjs'
import { bakeBench } from './bake.mjs'
import { littableBench, loopBench, sandboxBench, stateBench } from './cargo.mjs'
import { cosmosBench } from './cosmos.mjs'
import { devBench } from './dev.mjs'
import { engineBench } from './engine.mjs'
import { everydayBench } from './everyday.mjs'
import { explorerBench } from './explorer.mjs'
import { fastPathBench } from './fast-path.mjs'
import { followBench } from './follow.mjs'
import { homeBench } from './home.mjs'
import { importBench } from './import.mjs'
import { jsAttacksBench, jsBench, jsPipelineBench } from './js.mjs'
import { logsBench } from './logs.mjs'
import { metricsBench } from './metrics.mjs'
import { networkBench } from './network.mjs'
import { stateSyncBench } from './network-state-sync.mjs'
import { overloadBench } from './overload.mjs'
import { writePage } from './page.mjs'
import { pairBench } from './pair.mjs'
import { rootsBench } from './roots.mjs'
import { scriptBench } from './script.mjs'
import { setupBench, testsBench } from './setup.mjs'
import { startBench } from './start.mjs'
import { traceBench } from './trace.mjs'
import { traceParityBench } from './trace-parity.mjs'

/** Benches by name. */
const BENCHES = {
  bake: bakeBench,
  // Parts of it.
  'bake-capsules': capsulesBench,
  'bake-commit': commitTable,
  'bake-hits': () => hitsTables(),
  cosmos: cosmosBench,
  dev: devBench,
  engine: engineBench,
  // Each of them ends within 30 minutes; all four are the tables of the state store.
  flatkv: async () => {
    for (const bench of [stateBench, loopBench, rootsBench, homeBench]) await bench()
  },
  'flatkv-state': stateBench,
  'flatkv-loop': loopBench,
  'flatkv-roots': rootsBench,
  explorer: explorerBench,
  'fast-path': fastPathBench,
  follow: followBench,
  home: homeBench,
  import: importBench,
  js: jsBench,
  // Parts of it.
  'js-attacks': jsAttacksBench,
  'js-pipeline': jsPipelineBench,
  'js-start': sandboxBench,
  littable: littableBench,
  logs: logsBench,
  metrics: metricsBench,
  network: async () => {
    await networkBench()
    await stateSyncBench()
  },
  overload: overloadBench,
  pair: pairBench,
  rpc: everydayBench,
  script: scriptBench,
  setup: setupBench,
  start: startBench,
  tests: testsBench,
  trace: traceBench,
  'trace-parity': traceParityBench,
}

/** Options that have a value. */
const VALUED = ['--against', '--node']

const names = process.argv.slice(2).filter((a, i, all) => !a.startsWith('-') && !VALUED.includes(all[i - 1]))
const unknown = names.filter((n) => !(n in BENCHES))
if (unknown.length || !names.length) {
  console.error(`${unknown.length ? `unknown bench ${unknown.join(', ')}` : 'name a bench'}: one of ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
for (const name of names) await BENCHES[name]()
if (process.argv.includes('--write')) writePage()
