import { useTranslations } from 'use-intl'
import { useShortcuts } from '../ui/shortcuts.tsx'

/**
 * Moves the focus by one among the page's open suggestions, relative to the element; to the first one if no suggestion
 * has the focus. Returns whether it moved.
 */
export function focusSuggestion(step: number, from: Element | null = document.activeElement): boolean {
  const current = from?.closest('[data-suggestion]')
  const stops = [...document.querySelectorAll<HTMLElement>('[data-suggestion]')].filter(
    (one) => one === current || one.dataset.suggestion === 'open',
  )
  const index = current ? stops.findIndex((one) => one === current) + step : 0
  const target = stops[index]
  target?.focus()
  target?.scrollIntoView({ block: 'nearest' })
  return target !== undefined
}

/**
 * `j` and `k` move between the suggestions of the page, if there are any. `goBeyond` goes to one that is not in the
 * document.
 */
export function useSuggestionKeys(isActive: boolean, goBeyond?: (step: 1 | -1) => void): void {
  const t = useTranslations('suggestions')
  const go = (step: 1 | -1) => {
    if (!focusSuggestion(step)) goBeyond?.(step)
  }
  useShortcuts(
    isActive
      ? [
          { keys: 'j', label: t('next'), run: () => go(1) },
          { keys: 'k', label: t('previous'), run: () => go(-1) },
        ]
      : [],
  )
}
