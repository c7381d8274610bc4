import { useSyncExternalStore } from 'react'

/** Does the screen fit this media query now? */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}

/** Phones have their own layout: cards instead of columns, and navigation at the bottom. */
export const useIsPhone = (): boolean => useMedia('(max-width: 700px)')

/** A list next to the page does not fit: the page without the navigation has at most 700 px. */
export const useIsNarrowPage = (): boolean => useMedia('(max-width: 932px)')

/** Two columns do not fit. */
export const useIsNarrow = (): boolean => useMedia('(max-width: 900px)')
