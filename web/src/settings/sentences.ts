import { useLabel } from '../messages/labels.ts'

/** Translates a sentence of the API, such as the description of a scope, without its full stop (de/sentences.json). */
export function useSentence(): (text: string) => string {
  const labelOf = useLabel()
  // Keys of messages contain no full stop.
  return (text) => labelOf(text.split('. ')[0]?.replace(/\.$/, '') ?? text)
}
