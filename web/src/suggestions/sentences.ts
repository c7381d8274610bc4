import { useFormatter, useNow, useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { usePersonZone } from '../tasks/person-zone.ts'
import type { Names } from '../api/names.ts'
import { recordOf, type Suggestion } from './suggestion-data.ts'

/** A suggestion as a sentence: `Call Grace Hopper on Friday, 27 November, 09:00`. */
export function useSentence(): (suggestion: Suggestion, names: Names) => string {
  const t = useTranslations('suggestions')
  const showDue = useDue()
  return (suggestion, names) => {
    const { type, params, dueAt, dueAtSource } = suggestion
    const values = {
      name: nameOf(suggestion, names) ?? t('someone'),
      due: dueAt === null ? 'none' : showDue(dueAt),
      source: dueAtSource ?? 'note',
      phone: params.phone ?? 'none',
      title: params.title ?? '',
      stage: params.stageKind ?? 'open',
      contact: [params.name, params.email, params.phone].filter(Boolean).join(', '),
    }
    return t(`sentences.${type}`, values)
  }
}

/** The display name of a suggestion's record; undefined if it cannot be read. */
export const nameOf = (suggestion: Suggestion, names: Names): string | undefined => names[recordOf(suggestion).id]

/** Day and time in the person's zone, with the year only if it is not the current one. */
function useDue(): (instant: string) => string {
  const format = useFormatter()
  const timeZone = usePersonZone()
  const now = useNow()
  return (instant) => {
    const date = new Date(instant)
    const year = (time: Date) => format.dateTime(time, { year: 'numeric', timeZone })
    return format.dateTime(date, {
      weekday: 'long',
      day: 'numeric',
      month: 'long',
      ...(year(date) !== year(now) && { year: 'numeric' }),
      hour: '2-digit',
      minute: '2-digit',
      timeZone,
    })
  }
}

/** The engine's confidence as a word. */
export function confidenceOf({ confidence }: Suggestion): 'high' | 'medium' | 'low' {
  if (confidence >= 0.85) return 'high'
  return confidence >= 0.65 ? 'medium' : 'low'
}

/** The source: the rules, a model, or the rules because the model did not answer. */
export function useEngine(): (suggestion: Suggestion) => string {
  const t = useTranslations('suggestions')
  return ({ engine, analysis: { model, degraded } }) => {
    if (engine === 'model') return t('engine.model', { model: model ?? '' })
    return degraded ? t('engine.degraded', { model: model ?? '' }) : t('engine.rules')
  }
}

/** May the person see suggestions at all? */
export const useMayRead = (): boolean => useResource('suggestions')?.permissions.list === true
