import { useLocale, useMessages } from 'use-intl'

/** Translates a label of the resources' description, which is in English; unknown labels stay as they are. */
export function useLabel(): (label: string) => string {
  const { labels } = useMessages()
  const known = labels as Readonly<Record<string, string>>
  return (label) => known[label] ?? label
}

/** What a property is called: only the product's own labels are translated, not those of an organization. */
export function usePropertyLabel(): (property: { label: string; field?: object | undefined }) => string {
  const labelOf = useLabel()
  return ({ label, field }) => (field && 'declared' in field ? label : labelOf(label))
}

/** A label within a sentence: English nouns begin in lower case, abbreviations and German nouns do not change. */
export function useNoun(): (label: string) => string {
  const labelOf = useLabel()
  const isEnglish = useLocale().startsWith('en')
  return (label) => {
    const noun = labelOf(label)
    return isEnglish && /^[A-Z][a-z]/.test(noun) ? noun.charAt(0).toLowerCase() + noun.slice(1) : noun
  }
}
