import { useLocale, useMessages } from 'use-intl'

/** Translates an English label of the schema; unknown labels are returned unchanged. */
export function useLabel(): (label: string) => string {
  const { labels } = useMessages()
  const known = labels as Readonly<Record<string, string>>
  return (label) => known[label] ?? label
}

/** A property's label: only the product's own labels are translated, not an organization's. */
export function usePropertyLabel(): (property: { label: string; field?: object | undefined }) => string {
  const labelOf = useLabel()
  return ({ label, field }) => (field && 'declared' in field ? label : labelOf(label))
}

/** A label within a sentence: English nouns start in lower case; abbreviations and German nouns stay unchanged. */
export function useNoun(): (label: string) => string {
  const labelOf = useLabel()
  const isEnglish = useLocale().startsWith('en')
  return (label) => {
    const noun = labelOf(label)
    return isEnglish && /^[A-Z][a-z]/.test(noun) ? noun.charAt(0).toLowerCase() + noun.slice(1) : noun
  }
}
