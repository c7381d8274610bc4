import { useSyncExternalStore } from 'react'

/** Does the screen match this media query now? */
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

/** There is no room for a list next to the page: without the navigation, the page is at most 700 px wide. */
export const useIsNarrowPage = (): boolean => useMedia('(max-width: 932px)')

/** There is no room for two columns. */
export const useIsNarrow = (): boolean => useMedia('(max-width: 900px)')
