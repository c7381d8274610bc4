/** Reads a preference of this browser; undefined if there is none or storage is blocked. */
export const readPreference = (name: string): string | undefined => readItem(`rapport.${name}`, 'browser')

/** Stores a preference of this browser; undefined removes it. Blocked storage is ignored. */
export const storePreference = (name: string, value: string | undefined): void =>
  storeItem(`rapport.${name}`, value, 'browser')

/** They say nothing about a person. */
const ofEverybody: readonly string[] = ['theme', 'language']
/** So that the next person of the organization need not enter it again. */
const ofOrganization: readonly string[] = ['single-sign-on']

/** What lasts until the browser's data is deleted, and what ends with the tab. */
const storages = { browser: () => localStorage, tab: () => sessionStorage } as const
export type StorageScope = keyof typeof storages

const marker = 'rapport.person'

/** Makes the storage that of a person: what another one left there is deleted. */
export function claimStorage(userId: string): void {
  for (const scope of ['browser', 'tab'] as const) {
    const before = readItem(marker, scope)
    if (before !== undefined && before !== userId) clearStorage([...ofEverybody, ...ofOrganization], scope)
    storeItem(marker, userId, scope)
  }
}

/** Deletes everything that is about a person. */
export function forgetPerson(): void {
  for (const scope of ['browser', 'tab'] as const) clearStorage(ofEverybody, scope)
}

const clearStorage = (kept: readonly string[], scope: StorageScope): void =>
  removeItems((key) => key.startsWith('rapport.') && !kept.includes(key.slice('rapport.'.length)), scope)

export function removeItems(isUnwanted: (key: string) => boolean, scope: StorageScope): void {
  try {
    const storage = storages[scope]()
    for (const key of Object.keys(storage)) if (isUnwanted(key)) storage.removeItem(key)
  } catch {
    // Blocked storage has no items.
  }
}

export function readItem(key: string, scope: StorageScope): string | undefined {
  try {
    return storages[scope]().getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

export function storeItem(key: string, value: string | undefined, scope: StorageScope): void {
  try {
    if (value === undefined) storages[scope]().removeItem(key)
    else storages[scope]().setItem(key, value)
  } catch {
    // Blocked or full: the value lasts until the page is closed.
  }
}

/** Preferences outlive a log-out, which makes the browser delete what it has stored for this host. */
export async function keepPreferences<T>(action: () => Promise<T>): Promise<T> {
  const kept = ofEverybody.map((name) => [name, readPreference(name)] as const)
  try {
    return await action()
  } finally {
    for (const [name, value] of kept) storePreference(name, value)
  }
}

const returnKey = 'rapport.return'

/** Remembers, while this tab is at another site, the page to come back to. */
export const storeReturnPath = (path: string): void => storeItem(returnKey, path, 'tab')

export function takeReturnPath(): string | undefined {
  const path = readItem(returnKey, 'tab')
  storeItem(returnKey, undefined, 'tab')
  return path
}
