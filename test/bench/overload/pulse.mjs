// A process that requests eth_blockNumber at a fixed rate, regardless of the answers. Each time is
// counted from when the request was due, so that a stall counts for all the requests that fall into
// it. `node pulse.mjs URL`; to `{ms}` from its parent it answers with `{took, failed}`.
import http from 'node:http'

/** Requests a second. */
const RATE = 100

/** Connections that are kept; more are opened where all of them wait. */
const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 16 })

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
const headers = { 'content-type': 'application/json', 'content-length': body.length }
const url = process.argv[2]

/** One request: undefined where it was answered, else why not. */
const ask = () =>
  new Promise((resolve) => {
    const request = http.request(url, { method: 'POST', headers, agent, localAddress: '127.0.0.1' }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.once('end', () =>
        resolve(response.statusCode === 200 && text.includes('"result"') ? undefined : `${response.statusCode} ${text}`),
      )
      response.once('error', (e) => resolve(e.message))
    })
    request.once('error', (e) => resolve(e.message))
    request.end(body)
  })

async function pulse(ms) {
  const [took, failed, all] = [[], [], []]
  const count = Math.round((ms / 1000) * RATE)
  const began = performance.now()
  for (let i = 0; i < count; i++) {
    const due = began + (i * 1000) / RATE
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    all.push(
      ask().then((why) => {
        took.push(performance.now() - due)
        if (why !== undefined) failed.push(why)
      }),
    )
  }
  await Promise.all(all)
  return { took, failed }
}

process.on('message', async ({ ms }) => process.send(await pulse(ms)))
process.on('disconnect', () => process.exit(0))
process.send('ready')
