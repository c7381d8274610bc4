import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNow, useTranslations } from 'use-intl'
import type { Names } from '../api/names.ts'
import { withPlainMentions } from '../ui/mentions.ts'
import { useMayRead } from './sentences.ts'
import { SuggestionCard } from './suggestion-card.tsx'
import {
  intentsQuery,
  newFor,
  noteSuggestionsQuery,
  type Suggestion,
  type SuggestionList,
  type TimedNote,
} from './suggestion-data.ts'
import styles from './suggestions.module.css'

export interface FoundSuggestions {
  byNote: ReadonlyMap<string, readonly Suggestion[]>
  names: Names
  /** Intents of new notes without suggestions, by note. */
  intents: Readonly<Record<string, Suggestion['intent']>>
}

const noIntents = {}

/** The suggestions for the notes of each timeline page. New ones appear automatically. */
export function useNoteSuggestions(pages: readonly (readonly TimedNote[])[]): FoundSuggestions {
  const mayRead = useMayRead()
  const [openedAt] = useState(() => Date.now())
  const found = useQueries({
    queries: (mayRead ? pages : []).map((notes) => noteSuggestionsQuery(notes.map(({ id }) => id))),
    combine: joinLists,
  })
  // Measured from when the timeline was opened: a note stays new, so that nothing moves later.
  const newNotes = (pages[0] ?? []).filter(
    ({ id, createdAt }) => openedAt - Date.parse(createdAt) < newFor && !found.byNote.has(id),
  )
  const intents = useQuery({
    ...intentsQuery(newNotes),
    enabled: mayRead && newNotes.length > 0,
    placeholderData: keepPreviousData,
  }).data
  return { ...found, intents: intents ?? noIntents }
}

function joinLists(results: readonly { data: SuggestionList | undefined }[]): Omit<FoundSuggestions, 'intents'> {
  const lists = results.flatMap(({ data }) => data ?? [])
  const byNote = new Map<string, Suggestion[]>()
  for (const suggestion of lists.flatMap(({ suggestions }) => suggestions)) {
    byNote.set(suggestion.noteId, [...(byNote.get(suggestion.noteId) ?? []), suggestion])
  }
  return { byNote, names: Object.assign({}, ...lists.map(({ names }) => names)) as Names }
}

const isYoung = ({ createdAt }: TimedNote, now: Date): boolean => now.getTime() - Date.parse(createdAt) < newFor

interface NoteSuggestionsProps {
  note: TimedNote
  suggestions: readonly Suggestion[]
  names: Names
  /** Undefined until a new note turns out to suggest nothing. */
  intent: Suggestion['intent'] | undefined
}

/** The suggestions of a note, below it. */
export function NoteSuggestions({ note, suggestions, names, intent }: NoteSuggestionsProps) {
  const t = useTranslations('suggestions')
  const mayRead = useMayRead()
  const [isNew] = useState(() => isYoung(note, new Date()))
  if (suggestions.length === 0)
    return isNew && mayRead ? <SuggestionPlaceholder note={note} intent={intent} /> : undefined
  return (
    <ul className={styles.list} aria-label={t('ofNote')}>
      {suggestions.map((suggestion) => (
        <li key={suggestion.id}>
          <SuggestionCard
            suggestion={suggestion}
            names={names}
            evidence={<blockquote className={styles.quote}>{withPlainMentions(suggestion.evidence.text)}</blockquote>}
          />
        </li>
      ))}
    </ul>
  )
}

/** Reserves the space for the suggestion of a new note, so that it pushes nothing down. */
function SuggestionPlaceholder({ note, intent }: Pick<NoteSuggestionsProps, 'note' | 'intent'>) {
  const t = useTranslations('suggestions')
  const now = useNow({ updateInterval: newFor / 4 })
  // The service may be busy, or may not analyse notes at all.
  if (intent === undefined && !isYoung(note, now)) return undefined
  return (
    <p className={styles.place} role="status">
      {intent === undefined ? t('beingRead') : t('nothingFound', { intent: t(`intents.${intent}`) })}
    </p>
  )
}
