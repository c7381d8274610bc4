import { type RefObject, useLayoutEffect, useRef } from 'react'

/** Scrolls an element to the top when it shows something else. */
export function useTop(element: RefObject<HTMLElement | null>, shown: string): void {
  const before = useRef(shown)
  useLayoutEffect(() => {
    if (before.current !== shown) element.current?.scrollTo({ top: 0 })
    before.current = shown
  }, [element, shown])
}
