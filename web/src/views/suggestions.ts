import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, titleOf, useResource, useSchema } from '../api/schema.ts'
import type { Move } from './editing.ts'
import { nestedRecordsQuery } from './nested-records.ts'
import type { Property } from './property.ts'

export interface Suggestion {
  record: RecordData
  title: string
}

interface SuggestionOptions {
  property: Property
  /** The record that has the reference, or the other values of the form. */
  owner: Readonly<Record<string, unknown>> | undefined
  text: string
  /** The initially selected option; -1 for none. */
  first?: number
  onChoose(record: RecordData | null, move: Move): void
}

const maxShown = 8
/** More than are shown, so that the results include a name that was typed in full. */
const maxRead = 24

/**
 * The records that match a text, null among them for none, and the one that Enter selects. While the results belong to
 * an earlier text, Enter waits; then it only selects a single record with exactly this name, because the person has not
 * seen the others.
 */
export function useSuggestionChoice({ property, owner, text, first = 0, onChoose }: SuggestionOptions) {
  const [selected, setSelected] = useState(first)
  const [waiting, setWaiting] = useState<{ move: Move }>()
  const target = useResource(property.resource ?? '')
  const parentId = target?.parent ? owner?.[target.parent.parameter] : undefined
  const { suggestions, isCurrent } = useSuggestions(target, text, typeof parentId === 'string' ? parentId : undefined)
  const canClear = property.field?.clearable !== false
  const options: readonly (Suggestion | null)[] = [...suggestions, ...(text === '' && canClear ? [null] : [])]
  const chooseExact = useEffectEvent((move: Move) => {
    const exact = suggestions.filter(({ title }) => isSameName(title, text))
    const [only] = exact
    if (only && exact.length === 1) onChoose(only.record, move)
  })
  useEffect(() => {
    if (waiting && isCurrent) chooseExact(waiting.move)
  }, [waiting, isCurrent])
  return {
    options,
    selected,
    isCurrent,
    step(count: 1 | -1) {
      const last = options.length - 1
      const next = selected + count
      setSelected(next > last ? 0 : next < 0 ? last : next)
    },
    /** Call it when the text changes. */
    reset(index = first) {
      setSelected(index)
      setWaiting(undefined)
    },
    /** False if nothing can be selected. */
    choose(move: Move): boolean {
      if (selected === -1) return false
      if (!isCurrent) {
        setWaiting({ move })
        return true
      }
      const option = options[selected]
      if (option !== undefined) onChoose(option?.record ?? null, move)
      return option !== undefined
    },
  }
}

/** The option to which the arrow keys move. */
export const stepOf = (key: string): 1 | -1 | undefined =>
  key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : undefined

export const isSameName = (one: string, other: string): boolean => folded(one) === folded(other)

const folded = (text: string): string => text.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase()

/** The records whose name contains the text; for resources without search, which have few records, all are loaded. */
export function useSuggestions(target: ResourceSchema | undefined, text: string, parentId: string | undefined) {
  const isSearched = target?.search === true
  const wanted = text.trim()
  const nested = useQuery(nestedRecordsQuery(useSchema(), target?.parent ? target : undefined))
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['suggestions', target?.name, isSearched ? wanted : ''],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: isSearched ? String(maxRead) : '100' })
      if (isSearched && wanted !== '') query.set('query', wanted)
      return (await send<RecordData[]>('GET', target?.path ?? '', { query, signal })).body
    },
    enabled: target !== undefined && !target.parent,
    placeholderData: keepPreviousData,
  })
  if (!target) return { suggestions: [], isCurrent: false }
  const isNamed = ({ title }: Suggestion) => folded(title).includes(folded(text))
  if (target.parent) {
    const shown = (nested.data ?? []).filter(({ parent }) => parentId === undefined || parent.id === parentId)
    const hasSeveral = shown.some(({ parent }) => parent.id !== shown[0]?.parent.id)
    const suggestions = shown.map(({ record, parentTitle }) => {
      const title = titleOf(target, record)
      return { record, title: hasSeveral ? `${title} · ${parentTitle}` : title }
    })
    return { suggestions: suggestions.filter(isNamed), isCurrent: nested.data !== undefined }
  }
  const isCurrent = data !== undefined && !isPlaceholderData
  const suggestions = (data ?? []).map((record) => ({ record, title: titleOf(target, record) }))
  const rank = ({ title }: Suggestion) => (isSameName(title, text) ? 0 : folded(title).startsWith(folded(text)) ? 1 : 2)
  const fitting = isSearched && isCurrent ? suggestions : suggestions.filter(isNamed)
  const ranked = wanted === '' ? fitting : fitting.toSorted((one, other) => rank(one) - rank(other))
  return { suggestions: ranked.slice(0, maxShown), isCurrent }
}
