/** Reads a preference of this browser; undefined if there is none or storage is blocked. */
export function readPreference(name: string): string | undefined {
  try {
    return localStorage.getItem(`rapport.${name}`) ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a preference of this browser; undefined removes it. Blocked storage is ignored. */
export function storePreference(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`rapport.${name}`)
    else localStorage.setItem(`rapport.${name}`, value)
  } catch {
    // The preference lasts until the page is closed.
  }
}

/** Preferences outlive a log-out, which makes the browser delete what it has stored for this host. */
export async function keepPreferences<T>(action: () => Promise<T>): Promise<T> {
  const kept = ['theme', 'language'].map((name) => [name, readPreference(name)] as const)
  try {
    return await action()
  } finally {
    for (const [name, value] of kept) storePreference(name, value)
  }
}
