/** The trigger URL of a new import, in memory only, until its page takes it. */
let latest: { importId: string; url: string } | undefined

export function keepUrl(importId: string, url: string): void {
  latest = { importId, url }
}

export const keptUrl = (importId: string): string | undefined =>
  latest?.importId === importId ? latest.url : undefined

export function forgetUrl(): void {
  latest = undefined
}
