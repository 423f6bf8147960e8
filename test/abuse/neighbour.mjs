// A worker thread that acts as another client of the node: it requests the block number in a loop,
// from its own address, and reports the duration of each answer.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const PAUSE_MS = 2
const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'

const agent = new http.Agent({ keepAlive: true, maxSockets: 1, localAddress: '127.0.0.3' })
let times = []
let failures = 0

/** @returns {Promise<void>} */
const ask = () =>
  new Promise((resolve) => {
    const began = performance.now()
    const fail = () => {
      failures++
      resolve()
    }
    const options = { method: 'POST', agent, headers: { 'content-type': 'application/json' } }
    const request = http.request(workerData, options, (response) => {
      response.resume()
      response.on('error', fail).on('end', () => {
        times.push(performance.now() - began)
        resolve()
      })
    })
    request.on('error', fail).end(BODY)
  })

let running = true
parentPort.on('message', (word) => {
  if (word === 'stop') running = false
  else {
    parentPort.postMessage({ times, failures })
    times = []
    failures = 0
  }
})
while (running) {
  await ask()
  await sleep(PAUSE_MS)
}
process.exit()
