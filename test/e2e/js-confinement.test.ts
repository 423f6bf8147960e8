// What confines the processes of scripts: what the node says of it is what the kernel says.
import fs from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeEnded } from '../../ts/cli/node-versions.ts'
import { hearth, startNode, tempHome } from './harness.ts'
import { NO_SCRIPTS, traceCode } from './js-node.ts'
import { until } from './waiting.ts'

const COUNT = '{n:0,step:function(){this.n++},fault:function(){},result:function(){return this.n}}'

/** Namespaces by the names of their layers. */
const NAMESPACES = {
  user_namespace: 'user',
  network_namespace: 'net',
  pid_namespace: 'pid',
  mount_namespace: 'mnt',
  ipc_namespace: 'ipc',
} as const

/** Processes that a thread started; none where it has ended meanwhile. */
function childrenOfThread(pid: number, thread: string): number[] {
  try {
    return fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Processes below a node, by what the kernel says. */
const childrenOf = (pid: number): number[] => fs.readdirSync(`/proc/${pid}/task`).flatMap((thread) => childrenOfThread(pid, thread))

/** What the kernel says of a process. */
function kernelOf(child: number, node: number): Record<string, boolean> {
  const status = fs.readFileSync(`/proc/${child}/status`, 'utf8')
  const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? ''
  const isOwn = (name: string): boolean => fs.readlinkSync(`/proc/${child}/ns/${name}`) !== fs.readlinkSync(`/proc/${node}/ns/${name}`)
  const limits = fs.readFileSync(`/proc/${child}/limits`, 'utf8')
  return {
    no_new_privs: field('NoNewPrivs') === '1',
    capabilities: ['CapEff', 'CapPrm', 'CapInh'].every((set) => /^0+$/.test(field(set))),
    seccomp: field('Seccomp') === '2',
    resource_limits: ['Max address space', 'Max data size'].every((limit) => new RegExp(`^${limit} +\\d`, 'm').test(limits)),
    ...Object.fromEntries(Object.entries(NAMESPACES).map(([layer, name]) => [layer, isOwn(name)])),
  }
}

describe.skipIf(NO_SCRIPTS)('the confinement of scripts', () => {
  const homes: string[] = []
  const start = async (...args: string[]) => {
    const home = tempHome()
    homes.push(home)
    return { home, node: await startNode(['dev', '--home', home, '--log.format=json', '--log.level=info', ...args]) }
  }
  afterAll(() => {
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  })
  const reportedBy = (home: string) => JSON.parse(hearth(['status', '--home', home, '--json']).stdout).scriptConfinement

  it('status and log report the kernel; required layers decide', async () => {
    const { home, node } = await start()
    // One process starts ahead of the first script, which it reports its confinement to.
    await until('a process that is started ahead', () => childrenOf(node.pid).length === 1)
    expect(reportedBy(home)).toBeNull()
    expect((await traceCode(node.url, COUNT)).result).toBe(4)
    const reported = reportedBy(home) as Record<string, boolean>
    const [child] = childrenOf(node.pid)
    expect(reported).toMatchObject(kernelOf(child as number, node.pid))
    expect(reported).toMatchObject({ no_new_privs: true, capabilities: true, seccomp: true, resource_limits: true })
    const absent = Object.keys(reported).filter((layer) => !reported[layer])
    const text = hearth(['status', '--home', home]).stdout
    expect(text).toMatch(/^scripts confined {2,}no_new_privs, capabilities.*seccomp/m)
    await until('the line of the log', () => node.log().includes('processes of JavaScript tracers are confined'))
    // A development chain logs the notice a second after its start.
    const notices = () => node.log().split('this version of Node gets no more security fixes').length - 1
    if (nodeEnded() !== undefined) await until('the notice of the version of Node', () => notices() > 0)
    expect(await node.stop()).toBe(0)
    expect(notices()).toBe(nodeEnded() === undefined ? 0 : 1)

    const strict = await start('--evm.trace_js_require_confinement=all')
    const missing = absent.filter((layer) => layer !== 'thread_limit')
    for (const _ of [1, 2]) {
      const reply = await traceCode(strict.node.url, COUNT)
      if (missing.length === 0) expect(reply.result).toBe(4)
      else expect(reply.error?.message).toContain(`confined without ${missing.join(', ')} on this system`)
    }
    // Other tracers continue in any case.
    expect((await traceCode(strict.node.url, 'callTracer')).result).toMatchObject({ type: 'CALL' })
    expect(await strict.node.stop()).toBe(0)
  })
})
