import { useEffect } from 'react'
import { useTranslations } from 'use-intl'
import { isSame } from '../api/edit.ts'
import { notify } from '../ui/toast.tsx'

const maxShown = 200

/**
 * While the person edits a value, says that somebody else has saved another one. What they type stays; they choose when
 * they save. Lists are merged then, so there is nothing to say about them.
 */
export function useChangedMeanwhile(name: string, seen: unknown, now: unknown): void {
  const t = useTranslations('conflict')
  const isChanged = !isSame(seen, now) && !Array.isArray(now)
  const value = typeof now === 'string' || typeof now === 'number' ? String(now).slice(0, maxShown) : ''
  const title = t('title', { name })
  const description = value === '' ? t('choiceComes') : t('nowSaved', { value })
  useEffect(
    () => (isChanged ? notify(title, { description, stays: true }) : undefined),
    [isChanged, title, description],
  )
}
