// Every setting once, and how flags, environment and node.toml become values.
export { type Problem, SettingError } from './error.ts'
export { defaultFile, type Line, settingsFile as settingsFileText } from './file.ts'
export { isFormerKey, REMOVED, RENAMED } from './former.ts'
export { nearest } from './nearest.ts'
export type { Origin } from './parsers.ts'
export { helpLines, settingsPage, shortHelp, toToml } from './render.ts'
export { type Resolved, resolveSettings, type Sources } from './resolve.ts'
export {
  environmentName,
  isBoolean,
  isSettingKey,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type Settings,
  settingOf,
} from './settings.ts'
export { LISTENER_NAMES, LOG_COMPONENTS, type LogComponent, type LogLevel } from './tables/operations.ts'
export { DEFAULT_NAMESPACES, DEV_NAMESPACES, NAMESPACES } from './tables/shared.ts'
export { TRACER_TABLE, type TracerRow } from './tables/tracers.ts'
export { STRUCT_LOGGER, TRACER_NAMES } from './tables/traces.ts'
export { unknownFlag } from './unknown.ts'
export { type Upgraded, upgradedFile } from './upgrade.ts'
