// Names that are no settings: the nearest one that is, and what it takes.
import { SettingError } from './error.ts'
import { FORMER_VARIABLES } from './former.ts'
import { nearest } from './nearest.ts'
import { environmentName, OWN_VARIABLES, SETTING_KEYS, settingOf } from './settings.ts'

/** `; did you mean …?` with the nearest known word and its values; `otherwise` if none is near. */
function hint(word: string, known: readonly string[], takes: (word: string) => string | undefined, otherwise = ''): string {
  // The last part alone: `http_port` for `evm.http_port`.
  const tail = word.replace(/^--/, '')
  const near = known.find((name) => name.endsWith(`.${tail}`)) ?? nearest(word, known)
  if (near === undefined) return otherwise
  const wanted = takes(near)
  return `; did you mean ${near}${wanted === undefined ? '' : `, which takes ${wanted}`}?`
}

const takesOfKey = (key: string): string | undefined => {
  const found = SETTING_KEYS.find((known) => known === key)
  return found === undefined ? undefined : settingOf(found).kind.takes
}

/** What is wrong with a key of the file that the table does not have. */
export function unknownKey(key: string): string {
  const beneath = SETTING_KEYS.find((known) => known.startsWith(`${key}.`))
  if (beneath !== undefined) return `${key} is a section, such as [${key}], and no setting`
  return `unknown setting ${key}${hint(key, SETTING_KEYS, takesOfKey, '; `hearth config list` lists every setting')}`
}

/** Where the flags that there are can be read. */
const LISTS = '; --help lists the flags of the command, `hearth config list` every setting'

/**
 * The error for an unknown flag, with the nearest known one. `flags` are a command's own, without
 * dashes; `given` is the flag as it was typed.
 */
export function unknownFlag(flag: string, flags: readonly string[] = [], given = `--${flag}`): SettingError {
  const known = [...flags, ...SETTING_KEYS].map((name) => `--${name}`)
  return new SettingError([
    { where: 'unknown flag', message: `${given}${hint(`--${flag}`, known, (near) => takesOfKey(near.slice(2)), LISTS)}` },
  ])
}

/** Warnings for variables that begin like ours and name no setting. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = new Map(SETTING_KEYS.map((key) => [environmentName(key), key]))
  const isKnown = (name: string): boolean =>
    names.has(name) || FORMER_VARIABLES.has(name) || OWN_VARIABLES.some((own) => name === own || name.startsWith(`${own}_`))
  return Object.keys(environment)
    .filter((name) => name.startsWith('HEARTH_') && !isKnown(name))
    .map(
      (name) =>
        `the environment variable ${name} is no setting and is ignored${hint(name, [...names.keys()], (near) => takesOfKey(names.get(near) ?? ''))}`,
    )
}
