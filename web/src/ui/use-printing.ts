import { useEffect, useState } from 'react'
import { flushSync } from 'react-dom'

/** Is the page being printed? Then all loaded items are in the document, not only the visible ones. */
export function useIsPrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    const media = matchMedia('print')
    // The browser lays out the page right after these events.
    const update = (is: boolean) => flushSync(() => setPrinting(is))
    const stop = new AbortController()
    const { signal } = stop
    addEventListener('beforeprint', () => update(true), { signal })
    addEventListener('afterprint', () => update(false), { signal })
    media.addEventListener('change', ({ matches }) => update(matches), { signal })
    return () => stop.abort()
  }, [])
  return isPrinting
}
