import { useSyncExternalStore } from 'react'

/** A link from a mail, from the terminal or from the log-in at a provider: `/account#<purpose>=<secret>`. */
export interface OpenedLink {
  purpose: string
  secret: string
}

// Only in memory: the secret is removed from the URL at once, so that it does not stay in the browser's history.
let opened: OpenedLink | undefined
const listeners = new Set<() => void>()

/** Remembers the link of a URL's fragment. */
export function openLink(fragment: string): void {
  const [purpose = '', secret = ''] = fragment.replace(/^#/, '').split('=', 2)
  setLink({ purpose, secret })
}

export const closeLink = (): void => setLink(undefined)

/** The link that was opened last and has not been used yet. */
export const openedLink = (): OpenedLink | undefined => opened

export const useOpenedLink = (): OpenedLink | undefined =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, openedLink)

function setLink(link: OpenedLink | undefined): void {
  opened = link
  for (const listener of listeners) listener()
}
