/** The trigger URL of the import that was just created, until its page has taken it: never stored anywhere. */
let latest: { importId: string; url: string } | undefined

export function keepUrl(importId: string, url: string): void {
  latest = { importId, url }
}

export const keptUrl = (importId: string): string | undefined =>
  latest?.importId === importId ? latest.url : undefined

export function forgetUrl(): void {
  latest = undefined
}
