// How often each instruction runs, and in whose code: `node opcode-histogram.js HOME BLOCK`. The
// tracer is an object of functions: they run in this process, and close over what stands around
// them.
import { openNode } from 'hearth'

const [home = 'chain', block = 'latest'] = process.argv.slice(2)

await using node = await openNode({ home, readOnly: true })

const counts = new Map<string, number>()
const contracts = new Set<string>()
const traced = await node.trace(
  { block: block === 'latest' ? 'latest' : BigInt(block) },
  {
    step(log) {
      const name = log.op.toString()
      counts.set(name, (counts.get(name) ?? 0) + 1)
      if (name === 'SSTORE') contracts.add(Buffer.from(log.contract.getAddress()).toString('hex'))
    },
    result: (context) => context.gasUsed,
  },
)

const gas = traced.reduce((sum, { result }) => sum + result, 0)
console.log(`${traced.length} transactions, ${gas} gas, ${contracts.size} contracts wrote storage`)
for (const [name, count] of [...counts].sort(([, a], [, b]) => b - a)) console.log(`${name} ${count}`)
