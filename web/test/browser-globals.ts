import { vi } from 'vitest'

/** What modules of the application expect of a browser, for unit tests. Returns what takes it away again. */
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

/** No other tab is open. */
class Channel {
  postMessage(): void {
    // Nobody listens.
  }
}
