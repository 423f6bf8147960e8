// hearth config: what holds, and where each value comes from.
import { environmentName, SETTING_KEYS, toToml } from '../../config/index.ts'
import type { Command } from '../command.ts'
import { HOME_FLAG, homeOf, settingsFile, settingsOf } from '../home.ts'

export const config: Command = {
  name: 'config',
  doc: 'Print every setting, its value, and where the value comes from.',
  flags: HOME_FLAG,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings, origins } = settingsOf(parsed, home)
    const from = { flag: 'flag', environment: 'environment', file: settingsFile(home), default: 'default' }
    for (const key of SETTING_KEYS) {
      const origin = origins[key] === 'environment' ? environmentName(key) : from[origins[key]]
      terminal.out(`${key} = ${toToml(settings[key])}  # ${origin}\n`)
    }
    return 0
  },
}
