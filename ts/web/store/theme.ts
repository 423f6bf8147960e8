// Light or dark: as the system says, until the reader chooses.
import { signal } from '@preact/signals'

export type Theme = 'light' | 'dark'
const KEY = 'hearth-theme'
const system = matchMedia('(prefers-color-scheme: dark)')

const chosen = (): Theme | undefined => {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : undefined
}

export const theme = signal<Theme>(chosen() ?? (system.matches ? 'dark' : 'light'))

function show(): void {
  document.documentElement.dataset.theme = theme.value
}

export function startTheme(): void {
  show()
  system.addEventListener('change', () => {
    if (chosen() !== undefined) return
    theme.value = system.matches ? 'dark' : 'light'
    show()
  })
}

export function switchTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark'
  localStorage.setItem(KEY, theme.value)
  show()
}
