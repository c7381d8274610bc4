import { withPlainMentions } from '../ui/mentions.ts'

const maxLength = 120

/** The title of an entry on one line. That of a note is the beginning of its text, which may end within a mention. */
export function titleText(title: string): string {
  const text = withPlainMentions(title)
    .replace(/@\[([^\]\n]*)(?:\](?:\(\w*)?)?$/, '@$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > maxLength ? `${text.slice(0, maxLength).trimEnd()}…` : text
}
