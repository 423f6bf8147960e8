// JavaScript tracers over a running node: what the tests of it share.
import http from 'node:http'
import { scriptCommand } from '../../dist/tracer/command.js'

/** Whether this checkout has no engine for scripts: set-up has said why. */
export const NO_SCRIPTS = 'unavailable' in scriptCommand()

/** An answer, and how long it took in milliseconds. */
export interface Reply {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
  readonly ms: number
}

/**
 * One call over a connection of its own; `from` is its source address, by which the node
 * distinguishes clients.
 */
export function call(url: string, method: string, params: unknown[], from = '127.0.0.1'): Promise<Reply> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false, localAddress: from }
    const request = http.request(url, options, async (response) => {
      const chunks: Buffer[] = []
      try {
        for await (const chunk of response) chunks.push(chunk as Buffer)
        resolve({ ...JSON.parse(Buffer.concat(chunks).toString('utf8')), ms: performance.now() - began })
      } catch (e) {
        reject(e)
      }
    })
    request.once('error', reject).end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  })
}

export const CALLER = '0x00000000000000000000000000000000000000aa'
export const CALLED = '0x00000000000000000000000000000000000000cc'
/** Pushes 1 and 2, adds them, stops. */
export const SHORT = '0x600160020100'
/** JUMPDEST, PUSH1 1, POP, PUSH1 0, JUMP: until the gas is gone. */
export const LOOP = '0x5b6001506000' + '56'

/** A script over code that is put at an address for the call. */
export const traceCode = (
  url: string,
  tracer: string,
  options: { code?: string; gas?: string; timeout?: string; from?: string } = {},
): Promise<Reply> =>
  call(
    url,
    'debug_traceCall',
    [
      { from: CALLER, to: CALLED, gas: options.gas ?? '0x100000' },
      'latest',
      { tracer, timeout: options.timeout ?? '60s', stateOverrides: { [CALLED]: { code: options.code ?? SHORT } } },
    ],
    options.from,
  )

/** A script with a `result` alone. */
export const resultOf = (body: string): string => `{step:function(log,db){},fault:function(){},result:function(ctx,db){${body}}}`
/** A script whose `step` has this body; its answer is `this.r`. */
export const stepOf = (body: string): string => `{r:[],step:function(log,db){${body}},fault:function(){},result:function(){return this.r}}`
