import { useSyncExternalStore } from 'react'
import { readPreference, storePreference } from './storage.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const listeners = new Set<() => void>()

const current = (): Theme => themes.find((theme) => theme === readPreference('theme')) ?? 'system'

/** Chooses the theme in this browser. public/theme.js applies it before the first paint of the next page. */
export function setTheme(theme: Theme): void {
  storePreference('theme', theme === 'system' ? undefined : theme)
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  for (const listener of listeners) listener()
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, current)
