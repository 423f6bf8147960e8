// Requests of attacks and of the clients beside them.
import http from 'node:http'

/** The address of attackers. */
export const ATTACKER = '127.0.0.2'

/** Time that an answer may take, in milliseconds. */
export const ANSWER_MS_MAX = 60_000

/** Sends a body; resolves to status and text. */
export function post(url, body, headers = {}, localAddress = ATTACKER) {
  return new Promise((resolve) => {
    const options = { method: 'POST', agent: false, localAddress, headers: { 'content-type': 'application/json', ...headers } }
    const sent = http.request(url, options, (response) => {
      let text = ''
      response.on('data', (data) => {
        if (text.length < 1000) text += data
      })
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error('no answer')))
    sent.on('error', (e) => resolve(`failed: ${e.message}`)).end(body)
  })
}

/** A contract that loops until its gas is used up, in the overrides of a trace. */
export const LOOPS = '0x00000000000000000000000000000000000d00d5'
export const looping = { [LOOPS]: { code: '0x5b600150600056' } }

/** The body of a request. */
export const asking = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** What a trace of another address is answered with. */
export const otherTrace = async (url) => {
  const body = asking('debug_traceCall', [{ to: LOOPS }, 'latest', { tracer: 'callTracer' }])
  return `another client: ${await post(url, body, {}, '127.0.0.4')}`
}
