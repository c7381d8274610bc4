import { useLabel } from '../messages/labels.ts'

/** Translates a sentence of the API, such as a scope's description, without its full stop (de/sentences.json). */
export function useSentence(): (text: string) => string {
  const labelOf = useLabel()
  // Message keys cannot contain full stops.
  return (text) => labelOf(text.split('. ')[0]?.replace(/\.$/, '') ?? text)
}
