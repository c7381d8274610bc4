import { reach, untilAnswered } from './connection.ts'
import { leavePage } from '../preferences/drafts.ts'
import { readItem, storeItem } from '../preferences/storage.ts'

// Vite makes every `import()` of the application call this (vite.config.ts).

/** The error messages of browsers and Vite for a file that could not be fetched. */
const notFetched = /dynamically imported module|importing a module script failed|unable to preload css/i

/** Milliseconds since the last click or key press; without one, the person is only hovering over a link. */
const recent = 2000
const maxAttempts = 3

let actedAt = Number.NEGATIVE_INFINITY
for (const event of ['click', 'keydown', 'popstate'])
  addEventListener(event, () => (actedAt = performance.now()), { capture: true })

const missingStyles = new Set<HTMLLinkElement>()
addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === 'stylesheet') missingStyles.add(target)
  },
  { capture: true },
)

/**
 * Loads a part of the application, and waits for a connection if there is none. After an upgrade, whose parts have
 * other names, the page reloads at the address that the person wants; their input is stored as a draft.
 */
export async function loadChunk<T>(load: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [chunk] = await Promise.all([load(), ...[...missingStyles].map(loadAgain)])
      return chunk
    } catch (error) {
      if (!(error instanceof Error && notFetched.test(error.message))) throw error
      const isSame = await isCurrent()
      if (isSame && attempt < maxAttempts) continue
      // Some browsers cache a failed import until the page is reloaded.
      if ((performance.now() - actedAt > recent && !isStarting()) || hasBegunAnew()) throw error
      leavePage(location.href)
      return new Promise<never>(() => undefined)
    }
  }
}

const marker = 'rapport.begun-anew'
const minAge = 60_000

/** Prevents endless reloads if a part is missing on the service. */
function hasBegunAnew(): boolean {
  const before = Number(readItem(marker, 'tab') ?? 0)
  if (Date.now() - before < minAge) return true
  storeItem(marker, String(Date.now()), 'tab')
  return false
}

/** True while nothing is on the screen yet. */
const isStarting = (): boolean => document.getElementById('root')?.childElementCount === 0

/** Vite does not request a failed style sheet again. */
function loadAgain(failed: HTMLLinkElement): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = failed.href
    link.addEventListener('load', () => {
      missingStyles.delete(failed)
      failed.remove()
      resolve()
    })
    link.addEventListener('error', () => reject(new Error(`Unable to preload CSS for ${failed.href}`)))
    document.head.append(link)
  })
}

const entryOf = (page: Document): string | null | undefined =>
  page.querySelector('script[type=module][src]')?.getAttribute('src')

/** Does the service still serve the build that this page runs? Waits until it answers. */
async function isCurrent(): Promise<boolean> {
  const get = () => reach(() => fetch('/login', { headers: { accept: 'text/html' }, cache: 'no-store' }))
  const response = await untilAnswered(get, { signal: new AbortController().signal, isRead: true })
  return entryOf(new DOMParser().parseFromString(await response.text(), 'text/html')) === entryOf(document)
}
