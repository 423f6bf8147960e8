// Attacks by many requests at once: hostile scripts, requests that are refused, filters, streams.
import fs from 'node:fs'
import http from 'node:http'
import { asking, LOOPS, looping, post } from './requests.mjs'

/** Requests of a crowd. */
const MANY = 200

/** Honest clients' address. */
const OTHER = '127.0.0.4'

/** Scripts that do not end, or take all the memory they can. */
const HOSTILE = ['for(;;){}', 'var a=[];for(;;)a.push(new Array(1000).fill(1))', 'var x=3n;for(;;)x*=x'].map(
  (step) => `{step:function(log,db){${step}},fault:function(){},result:function(){return 0}}`,
)
const HONEST = '{n:0,step:function(){this.n++},fault:function(){},result:function(){return "honest"}}'

const underScript = (tracer, timeout) =>
  asking('debug_traceCall', [{ to: LOOPS, gas: '0xffff' }, 'latest', { tracer, timeout, stateOverrides: looping }])

/** Processes below a node, by what the kernel says. */
const childrenOf = (pid) =>
  fs
    .readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean))

/** The layers of confinement that the kernel reports of a process. */
function confinement(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1]
  return `capabilities ${Number.parseInt(field('CapEff') ?? 'f', 16)}, no_new_privs ${field('NoNewPrivs')}, seccomp ${field('Seccomp')}`
}

/** Reads an answer to its end; resolves to how it ended and its bytes. */
function drained(url, body) {
  return new Promise((resolve) => {
    const sent = http.request(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } }, (response) => {
      let bytes = 0
      response.on('data', (data) => {
        bytes += data.length
      })
      response.on('error', () => resolve(['cut off', bytes])).on('end', () => resolve(['ended', bytes]))
    })
    sent.on('error', () => resolve(['cut off', 0])).end(body)
  })
}

/** How much further than its limit a stream may be, in bytes: what is on its way. */
const ON_ITS_WAY_BYTES = 8 * 1024 * 1024
const STREAM_BYTES = 64 * 1024 * 1024

/** Crowds, as attacks. */
export const CROWDS = [
  {
    name: `${MANY} requests at once that are refused`,
    run: async ({ url }) => {
      const answers = await Promise.all(Array.from({ length: MANY }, () => post(url, asking('debug_noSuchMethod', []))))
      return `refused: ${answers.filter((text) => text.includes('-32601')).length} of ${MANY}`
    },
    outcome: `refused: ${MANY} of ${MANY}`,
    threadMs: 60,
    memoryMiB: 16,
  },
  {
    name: `${MANY} hostile scripts at once`,
    before: 'others p99 5.7 ms (idle 2.6 ms), none failed',
    run: async ({ url }) => {
      const attacks = Array.from({ length: MANY }, (_, i) => post(url, underScript(HOSTILE[i % HOSTILE.length], '1s')))
      const honest = await post(url, underScript(HONEST, '30s'), {}, OTHER)
      const answers = await Promise.all(attacks)
      const ended = answers.filter((text) => /execution timeout|-32005|memory/.test(text)).length
      return `ended: ${ended} of ${MANY}, another client: ${/"result":"honest"/.test(honest) ? 'answered' : honest}`
    },
    outcome: `ended: ${MANY} of ${MANY}, another client: answered`,
    threadMs: 150,
    memoryMiB: 64,
  },
  {
    name: 'a script that looks at its process',
    before: 'capabilities of the node, no_new_privs 0, seccomp 0',
    run: async (node) => {
      await post(node.url, underScript(HONEST, '30s'))
      return childrenOf(node.pid).map(confinement).join('; ')
    },
    outcome: 'capabilities 0, no_new_privs 1, seccomp 2',
  },
  {
    name: '10,000 filters of one address',
    before: 'others refused for 2 minutes',
    run: async ({ url }) => {
      const one = '{"jsonrpc":"2.0","id":1,"method":"eth_newBlockFilter","params":[]}'
      const batch = `[${Array(1000).fill(one).join()}]`
      for (let i = 0; i < 14; i++) await post(url, batch)
      return `another client: ${await post(url, one, {}, OTHER)}`
    },
    outcome: 'another client: 200 {"jsonrpc":"2.0","id":1,"result":"0x',
    memoryMiB: 64,
  },
  {
    name: 'a trace without end that is read as fast as it comes',
    before: '129.65 GB in 303 s',
    settings: ['--evm.simulation_gas_limit=1000000000000', `--evm.max_trace_struct_log_bytes=${STREAM_BYTES}`],
    run: async ({ url }) => {
      const params = [{ to: LOOPS, gas: '0xe8d4a51000' }, 'latest', { timeout: '5m', stateOverrides: looping }]
      const [how, bytes] = await drained(url, asking('debug_traceCall', params))
      return bytes <= STREAM_BYTES + ON_ITS_WAY_BYTES ? `${how} within its limit` : `${how} after ${bytes} bytes`
    },
    outcome: 'within its limit',
    memoryMiB: 32,
  },
  {
    name: 'the metrics page under another name',
    before: '200',
    run: ({ metrics }) =>
      new Promise((resolve) => {
        const sent = http.get(metrics, { headers: { host: 'evil.example' } }, (response) =>
          resolve(`status ${response.resume().statusCode}`),
        )
        sent.on('error', (e) => resolve(e.message))
      }),
    outcome: 'status 403',
  },
]
