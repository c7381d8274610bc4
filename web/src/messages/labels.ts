import { useMessages } from 'use-intl'

/** Translates a label of the resources' description, which is in English; unknown labels stay as they are. */
export function useLabel(): (label: string) => string {
  const { labels } = useMessages()
  const known = labels as Readonly<Record<string, string>>
  return (label) => known[label] ?? label
}
