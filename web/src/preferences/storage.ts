/** Reads a preference of this browser; undefined if it is missing or storage is blocked. */
export const readPreference = (name: string): string | undefined => readItem(`rapport.${name}`, 'browser')

/** Stores a preference of this browser; undefined removes it. Blocked storage is ignored. */
export const storePreference = (name: string, value: string | undefined): void =>
  storeItem(`rapport.${name}`, value, 'browser')

/** These contain nothing about a person. */
const ofEverybody: readonly string[] = ['theme', 'language']
/** Stored so that the next person of the organization need not enter it again. */
const ofOrganization: readonly string[] = ['single-sign-on']

/** `browser` lasts until the browser's data is deleted, `tab` until the tab is closed. */
const storages = { browser: () => localStorage, tab: () => sessionStorage } as const
export type StorageScope = keyof typeof storages

const marker = 'rapport.person'

/** Claims the storage for a person: deletes what another person left there. */
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
    // Storage is blocked or full: the value lasts until the page is closed.
  }
}

/** Preferences survive a log-out, although the log-out makes the browser delete what it stores for this host. */
export async function keepPreferences<T>(action: () => Promise<T>): Promise<T> {
  const kept = ofEverybody.map((name) => [name, readPreference(name)] as const)
  try {
    return await action()
  } finally {
    for (const [name, value] of kept) storePreference(name, value)
  }
}

const returnKey = 'rapport.return'

/** Stores the page to return to while this tab is at another site. */
export const storeReturnPath = (path: string): void => storeItem(returnKey, path, 'tab')

export function takeReturnPath(): string | undefined {
  const path = readItem(returnKey, 'tab')
  storeItem(returnKey, undefined, 'tab')
  return path
}
