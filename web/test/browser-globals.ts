import { vi } from 'vitest'

/**
 * Defines the browser globals that modules of the application need in unit tests. Returns a function that removes them.
 */
export function inBrowser(more: Record<string, unknown> = {}): () => void {
  const values = {
    document: { querySelector: () => null },
    location: { origin: 'https://crm.example' },
    BroadcastChannel: Channel,
    isSecureContext: false,
    addEventListener: () => undefined,
    navigator: { platform: '', userAgent: '', language: 'en', onLine: true },
    ...more,
  }
  for (const [name, value] of Object.entries(values)) vi.stubGlobal(name, value)
  return () => void vi.unstubAllGlobals()
}

/** Simulates that no other tab is open. */
class Channel {
  postMessage(): void {}
}
