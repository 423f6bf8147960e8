// hearth dev: a development chain, of its own or going on from another one.
import type { Settings } from '../../config/index.ts'
import { devAccounts } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import { Console } from '../../dev/console.ts'
import { jsonPrinter, type Printer, textPrinter, together } from '../../dev/printer.ts'
import { type FindOptions, type Origin, shownUrl } from '../../fork/index.ts'
import { temporaryHome, temporarySettings } from '../../node/temporary-home.ts'
import type { Server } from '../../server/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import { nodeSettings } from '../check-files.ts'
import type { Command, Terminal } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { banner, explorerUrl, readyEvent } from '../dev/banner.ts'
import { Chains } from '../dev/chains.ts'
import { DEV_FLAGS } from '../dev/flags.ts'
import { findOptions, forkConfig, originOf } from '../dev/fork.ts'
import { dumpState, loadState, type StateFiles, stateFiles } from '../dev/state-files.ts'
import { addSettingsFile, namedHome } from '../home.ts'
import { withoutUsedPorts } from '../port-in-use.ts'
import { type Extras, type Prepared, serve } from './node.ts'

/** The output of a run, in the form that the settings select. */
interface Output {
  /** Sentences for a reader. */
  readonly say: (text: string) => void
  /** Objects for a program. */
  readonly json: ((event: object) => void) | undefined
  readonly printer: Printer | undefined
}

function outputOf(settings: Settings, { out }: Terminal): Output {
  if (settings['dev.silent']) return { say: () => undefined, json: undefined, printer: undefined }
  if (settings['dev.json'])
    return { say: () => undefined, json: (event) => out(`${JSON.stringify(event)}\n`), printer: jsonPrinter(together(out)) }
  return { say: out, json: undefined, printer: textPrinter(together(out)) }
}

/** Whether blocks are made for transactions as they come. */
const isAutomatic = (settings: Settings): boolean =>
  !settings['dev.no_mining'] && (settings['dev.block_time'] === 'none' || settings['dev.mixed_mining'])

function checkFlags(flags: Parsed['flags'], settings: Settings): void {
  if (flags.has('demo') && !isAutomatic(settings))
    throw new UsageError('--demo needs a block for each transaction: leave --no-mining and --block-time out')
}

/** One development chain from its start to its end. */
class DevRun {
  private readonly parsed: Parsed
  private readonly terminal: Terminal
  private readonly home: string
  private readonly settings: Settings
  private readonly output: Output
  private readonly files: StateFiles
  private readonly find: FindOptions
  private origin: Origin | undefined
  private console: Console | undefined

  constructor(parsed: Parsed, terminal: Terminal, home: string, settings: Settings) {
    this.parsed = parsed
    this.terminal = terminal
    this.home = home
    this.settings = settings
    this.output = outputOf(settings, terminal)
    this.find = findOptions(settings, terminal.err)
    this.files = stateFiles(parsed.flags)
  }

  async run(): Promise<number> {
    const url = this.settings['dev.fork_url']
    if (url !== 'none') this.output.say(`connecting to ${shownUrl(url)} ...\n`)
    this.origin = await originOf(this.home, this.settings, this.find)
    const { home, settings, output } = this
    const quiet: Terminal = { ...this.terminal, out: output.say }
    return await serve('dev', this.parsed, quiet, (server, core) => this.ready(server, core), {
      home,
      settings,
      prepare: async (config) => this.prepared(config),
      onRequest: this.onRequest(),
      beforeClose: (core) => this.beforeClose(core),
    })
  }

  private onRequest(): Extras['onRequest'] {
    const { printer } = this.output
    if (printer === undefined || !this.settings['dev.verbose']) return undefined
    return (method, ms, success) => printer.request(method ?? 'a request without a method', ms, success)
  }

  private prepared(config: Prepared['config']): Prepared {
    const { origin, settings } = this
    const keptHome = this.parsed.flags.has('home') ? this.home : undefined
    const wrap = (core: Core): Core => {
      const chains = new Chains({ config, settings, origin, find: this.find, keptHome }, core, () => this.console?.mayLogNow())
      return this.watched(chains.core)
    }
    return origin === undefined ? { config, wrap } : { config: forkConfig(config, settings, origin), ask: origin.ask, wrap }
  }

  private watched(core: Core): Core {
    const { printer } = this.output
    if (printer === undefined) return core
    // A chain that is not new, or that is loaded, may have contracts that log.
    const mayLog = this.parsed.flags.has('home') || this.origin !== undefined || this.files.load !== undefined
    this.console = new Console(core, printer, { mayLog })
    return this.console.watched()
  }

  private async ready(server: Server, core: Core): Promise<string> {
    if (this.parsed.flags.has('home')) addSettingsFile(this.home)
    if (this.files.load !== undefined) await loadState(core, this.files.load)
    const accounts = devAccounts(this.settings['dev.mnemonic'], this.settings['dev.accounts'])
    const chain = { server, core, accounts, settings: this.settings, origin: this.origin }
    const { json } = this.output
    // Runs before the console follows the chain: the demo prints its transactions itself.
    const demo = this.parsed.flags.has('demo') ? await (await import('../dev/demo.ts')).playDemo(core, accounts, this.origin) : undefined
    json?.(await readyEvent(chain))
    for (const step of demo?.steps ?? []) json?.({ event: 'demo', ...step })
    void this.console?.follow(explorerUrl(chain))
    return `${await banner(chain)}${demo === undefined ? '' : `\n${demo.text}`}`
  }

  private async beforeClose(core: Core): Promise<void> {
    this.console?.stop()
    if (this.files.dump !== undefined) await dumpState(core, this.files.dump)
  }
}

export const dev: Command = {
  name: 'dev',
  doc: COMMAND_DOCS.dev,
  flags: DEV_FLAGS,
  serves: true,
  async run(parsed, terminal) {
    const given = parsed.flags.get('home')
    const temporary = given === undefined ? temporaryHome() : undefined
    try {
      const home = temporary?.home ?? namedHome(given as string)
      const resolved = nodeSettings(parsed, home, terminal, true)
      checkFlags(parsed.flags, resolved.settings)
      const { say } = outputOf(resolved.settings, terminal)
      const settings = await withoutUsedPorts(resolved, say)
      const kept = temporary === undefined ? settings : temporarySettings(resolved, settings)
      return await new DevRun(parsed, terminal, home, kept).run()
    } finally {
      temporary?.remove()
    }
  },
}
