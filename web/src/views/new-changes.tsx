import { type RefObject, useEffect, useEffectEvent } from 'react'
import { useTranslations } from 'use-intl'
import type { Arrivals } from '../live/arrivals.ts'
import { Button } from '../ui/button.tsx'
import styles from './list.module.css'

interface NewChangesProps {
  /** The number of records that others have added; undefined if everything is shown. */
  arrived: number | undefined
  arrivals: Arrivals
  /** What contains the records. */
  box: RefObject<HTMLElement | null>
  /** The element in the box that scrolls and gets the focus. */
  scroller: string
  /** Distance from the top of the box, in pixels. */
  top: number
  /** The person acts on some of the records, such as selected ones. */
  isBusy: boolean
}

/** Says what others have added or moved if showing it would move the records under the person, and shows it on request. */
export function NewChanges({ arrived, arrivals, box, scroller, top, isBusy }: NewChangesProps) {
  const t = useTranslations('list')
  const scrollerIn = () => box.current?.querySelector<HTMLElement>(scroller)
  const mayMove = useEffectEvent(
    () =>
      !isBusy &&
      (scrollerIn()?.scrollTop ?? 0) === 0 &&
      !box.current?.querySelector('[data-editing], [data-dragging], [data-carrying]'),
  )
  useEffect(() => arrivals.askBeforeMoves(() => mayMove()), [arrivals])
  useEffect(() => {
    const [element, stop] = [box.current, new AbortController()]
    // After the event, because an editor closes then.
    const retry = () => void requestAnimationFrame(arrivals.retry)
    for (const name of ['scroll', 'pointerup', 'keyup', 'focusout'])
      element?.addEventListener(name, retry, { capture: true, passive: true, signal: stop.signal })
    return () => stop.abort()
  }, [arrivals, box])
  useEffect(() => {
    if (!isBusy) arrivals.retry()
  }, [arrivals, isBusy])
  const show = () => {
    scrollerIn()?.scrollTo({ top: 0 })
    scrollerIn()?.focus({ preventScroll: true })
    void arrivals.apply()
  }
  return (
    <div role="status" className={styles.arrived} style={{ top }}>
      {arrived !== undefined && (
        <Button onClick={show}>{arrived > 0 ? t('arrived', { count: arrived }) : t('othersChanged')}</Button>
      )}
    </div>
  )
}
