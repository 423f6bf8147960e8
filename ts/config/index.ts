// Every setting once, and how flags, environment and node.toml become values.
export { type Origin, SettingError } from './kinds.ts'
export { nearest } from './nearest.ts'
export { defaultFile, helpLines, settingsPage, toToml } from './render.ts'
export { type Resolved, resolveSettings, type Sources, unknownFlag } from './resolve.ts'
export { DEFAULT_NAMESPACES, environmentName, isSettingKey, SETTING_KEYS, SETTINGS, type SettingKey, type Settings } from './settings.ts'
