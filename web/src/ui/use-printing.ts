import { useEffect, useState } from 'react'
import { flushSync } from 'react-dom'

/** Is the page being printed? Then everything that is loaded is in the document, not only what is visible. */
export function useIsPrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    const media = matchMedia('print')
    // The browser draws the paper right after these events.
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
