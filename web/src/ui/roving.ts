import { type KeyboardEvent, useState } from 'react'

const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }

/**
 * A single tab stop for many links, such as the bars of a chart: arrow keys, Home and End move between them, and Escape
 * hides what the focus shows.
 */
export function useRoving(onEscape?: () => void) {
  const [current, setCurrent] = useState(0)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onEscape?.()
    const stops = [...(event.currentTarget.closest('svg')?.querySelectorAll<SVGElement>('[data-stop]') ?? [])]
    const index = stops.findIndex((stop) => stop === document.activeElement)
    const step = steps[event.key]
    const next =
      event.key === 'Home' ? 0 : event.key === 'End' ? stops.length - 1 : step === undefined ? -1 : index + step
    const target = stops[next]
    if (!target) return
    event.preventDefault()
    setCurrent(next)
    target.focus()
  }
  /** The attributes of each link, by its index in the document. */
  return (index: number, count: number) => ({
    'data-stop': '',
    onKeyDown,
    tabIndex: index === Math.min(current, count - 1) ? 0 : -1,
  })
}
