// Problems of a home, of the files that its settings name, of the variables and of the other
// settings that they need: the checks of `hearth config check` and of the start of a node.
import fs from 'node:fs'
import path from 'node:path'
import { type Problem, type Resolved, SettingError, type SettingKey } from '../config/index.ts'
import { protocolProblem } from '../metrics/otlp-protocol.ts'
import { authFileProblems } from '../server/admission/auth.ts'
import type { Parsed } from './args.ts'
import type { Terminal } from './command.ts'
import { settingsOf } from './home.ts'

/** Where a value came from, as problems name it. */
const whereOf = (key: SettingKey, { origins, from }: Resolved): string => {
  if (origins[key] === 'file') return `${from[key]}: ${key}`
  return origins[key] === 'default' ? key : from[key]
}

/** Volumes of the tables: folders, or names that a folder can be made under. */
function rootProblems(resolved: Resolved): Problem[] {
  return resolved.settings['littable.extra_roots'].flatMap((root) => {
    const stat = fs.statSync(root, { throwIfNoEntry: false })
    if (stat === undefined || stat.isDirectory()) return []
    return [{ where: whereOf('littable.extra_roots', resolved), message: `names ${root}, which is not a folder` }]
  })
}

/** Variables of OpenTelemetry under which what the settings enable cannot be sent. */
function otlpProblems({ settings }: Resolved): Problem[] {
  const problems = [
    settings['metrics.otlp'] ? protocolProblem('METRICS') : undefined,
    settings['evm.slow_request_traces'] ? protocolProblem('TRACES') : undefined,
  ]
  // One variable may be that of both.
  return [...new Map(problems.filter((problem) => problem !== undefined).map((problem) => [problem.where, problem])).values()]
}

/** Settings of a node under CometBFT that exclude or need others. */
function consensusProblems(resolved: Resolved): Problem[] {
  const { settings } = resolved
  if (!settings['consensus.enabled']) return []
  const problems: Problem[] = []
  if (settings['engine.enabled'])
    problems.push({
      where: whereOf('engine.enabled', resolved),
      message: 'is true, and so is consensus.enabled: a chain has one source of blocks; set one to false',
    })
  if (settings['consensus.redirect'] === 'sender' && settings['consensus.validator_rpc'].length === 0)
    problems.push({
      where: whereOf('consensus.redirect', resolved),
      message: 'is sender, which needs the URLs of validators: name them in consensus.validator_rpc',
    })
  return problems
}

/**
 * Throws `SettingError` with every file and variable that cannot be used, and with settings that do
 * not go together.
 */
export function checkFiles(resolved: Resolved, dev = false): void {
  const ofAuth = authFileProblems(resolved.settings).map(({ setting, problem }) => ({
    where: `${whereOf(setting, resolved)}:`,
    message: problem,
  }))
  const ofConsensus = dev ? [] : consensusProblems(resolved)
  const problems = [...ofAuth, ...rootProblems(resolved), ...otlpProblems(resolved), ...ofConsensus]
  if (problems.length > 0) throw new SettingError(problems)
}

/**
 * The settings that a node is started with; throws `SettingError` for those that
 * `hearth config check` refuses.
 */
export function nodeSettings(parsed: Parsed, home: string, terminal: Terminal, dev: boolean): Resolved {
  const resolved = settingsOf(parsed, home, terminal, { dev })
  checkFiles(resolved, dev)
  return resolved
}

/** Throws `SettingError` where a folder is not the home of a node. */
export function checkHome(home: string): void {
  if (fs.existsSync(path.join(home, 'config'))) return
  throw new SettingError([{ where: '--home', message: `names ${home}: there is no home; \`hearth init --home DIR\` makes one` }])
}
