import { useEffect, useState } from 'react'

/** A link from a mail, from the terminal or from the log-in at a provider: `/account#<purpose>=<secret>`. */
export interface OpenedLink {
  purpose: string
  secret: string
}

/** Fragments that only name a page, as in links of earlier versions. */
const pages: ReadonlyMap<string, string> = new Map([
  ['logged-in', '/'],
  ['log-in', '/login'],
  ['forgot-password', '/forgot-password'],
  ['api-key', '/settings/api-keys'],
  ['log-out', '/logout'],
])

// Only in memory: the secret is removed from the URL at once, so that it does not stay in the browser's history.
let opened: OpenedLink | undefined
const listeners = new Set<(link: OpenedLink) => void>()

/** Remembers the link of a URL's fragment; returns the page that handles it. */
export function openLink(fragment: string): string {
  const [purpose = '', secret = ''] = fragment.replace(/^#/, '').split('=', 2)
  const page = pages.get(purpose)
  if (page !== undefined) return page
  opened = { purpose, secret }
  for (const listener of listeners) listener(opened)
  return '/account'
}

/** Forgets the link once it was used. What is on the screen stays until the next page. */
export function closeLink(): void {
  opened = undefined
}

/** The link that was opened last. */
export function useOpenedLink(): OpenedLink | undefined {
  const [link, setLink] = useState(opened)
  useEffect(() => {
    listeners.add(setLink)
    return () => void listeners.delete(setLink)
  }, [])
  return link
}
