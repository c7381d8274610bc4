import { useEffect, useState } from 'react'

/** A link from a mail, the terminal, or an identity provider's log-in: `/account#<purpose>=<secret>`. */
export interface OpenedLink {
  purpose: string
  secret: string
}

/** Fragments that only name a page, as in links from earlier versions. */
const pages: ReadonlyMap<string, string> = new Map([
  ['logged-in', '/'],
  ['log-in', '/login'],
  ['forgot-password', '/forgot-password'],
  ['api-key', '/settings/api-keys'],
  ['log-out', '/logout'],
])

// Stored in memory only: the secret is removed from the URL at once, so that it does not stay in the browser's history.
let opened: OpenedLink | undefined
const listeners = new Set<(link: OpenedLink) => void>()

/** Stores the link of a URL's fragment; returns the page that handles it. */
export function openLink(fragment: string): string {
  const [purpose = '', secret = ''] = fragment.replace(/^#/, '').split('=', 2)
  const page = pages.get(purpose)
  if (page !== undefined) return page
  opened = { purpose, secret }
  for (const listener of listeners) listener(opened)
  return '/account'
}

/** Forgets the link after use. The current screen stays until the next page. */
export function closeLink(): void {
  opened = undefined
}

/** The link that was opened most recently. */
export function useOpenedLink(): OpenedLink | undefined {
  const [link, setLink] = useState(opened)
  useEffect(() => {
    listeners.add(setLink)
    return () => void listeners.delete(setLink)
  }, [])
  return link
}
