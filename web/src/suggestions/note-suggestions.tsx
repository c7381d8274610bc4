import { useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNow, useTranslations } from 'use-intl'
import type { Names } from '../timeline/names.ts'
import { useMayRead } from './sentences.ts'
import { SuggestionCard } from './suggestion-card.tsx'
import { analysisQuery, noteSuggestionsQuery, type Suggestion, type SuggestionList } from './suggestion-data.ts'
import styles from './suggestions.module.css'

export interface FoundSuggestions {
  byNote: ReadonlyMap<string, readonly Suggestion[]>
  names: Names
}

/** The suggestions beside the notes of each page of a timeline. New ones of the first page appear by themselves. */
export function useNoteSuggestions(pages: readonly (readonly string[])[]): FoundSuggestions {
  const mayRead = useMayRead()
  return useQueries({
    queries: (mayRead ? pages : []).map((noteIds, index) => noteSuggestionsQuery(noteIds, { isLive: index === 0 })),
    combine: joinLists,
  })
}

function joinLists(results: readonly { data: SuggestionList | undefined }[]): FoundSuggestions {
  const lists = results.flatMap(({ data }) => data ?? [])
  const byNote = new Map<string, Suggestion[]>()
  for (const suggestion of lists.flatMap(({ suggestions }) => suggestions)) {
    byNote.set(suggestion.noteId, [...(byNote.get(suggestion.noteId) ?? []), suggestion])
  }
  return { byNote, names: Object.assign({}, ...lists.map(({ names }) => names)) as Names }
}

/** A note that was written less than this many milliseconds ago is probably still being read. */
const newFor = 60_000

interface TimedNote {
  id: string
  createdAt: string
}

const isYoung = ({ createdAt }: TimedNote, now: Date): boolean => now.getTime() - Date.parse(createdAt) < newFor

interface NoteSuggestionsProps {
  note: TimedNote
  suggestions: readonly Suggestion[]
  names: Names
}

/** What follows from a note, below it. */
export function NoteSuggestions({ note, suggestions, names }: NoteSuggestionsProps) {
  const t = useTranslations('suggestions')
  const mayRead = useMayRead()
  const [isNew] = useState(() => isYoung(note, new Date()))
  if (suggestions.length === 0) return isNew && mayRead ? <BeingRead note={note} /> : undefined
  return (
    <ul className={styles.list} aria-label={t('ofNote')}>
      {suggestions.map((suggestion) => (
        <li key={suggestion.id}>
          <SuggestionCard
            suggestion={suggestion}
            names={names}
            evidence={<blockquote className={styles.quote}>{suggestion.evidence.text}</blockquote>}
          />
        </li>
      ))}
    </ul>
  )
}

/** Where the suggestion of a new note will appear, so that it pushes nothing down. */
function BeingRead({ note }: { note: TimedNote }) {
  const t = useTranslations('suggestions')
  const { data } = useQuery(analysisQuery(note.id))
  const now = useNow({ updateInterval: newFor / 4 })
  // The service may be busy, or read no notes at all.
  if (!data && !isYoung(note, now)) return undefined
  return (
    <p className={styles.place} role="status">
      {data ? t('nothingFound', { intent: t(`intents.${data.intent}`) }) : t('beingRead')}
    </p>
  )
}
