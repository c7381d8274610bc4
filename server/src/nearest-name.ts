import { distance } from 'fastest-levenshtein'

/**
 * The nearest name within one edit, or two for names of at least ten letters (HTTP_URL is not SMTP_URL). Underscores are
 * ignored.
 */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const edits = (known: string) =>
    Math.min(editsBetween(name, known), editsBetween(withoutUnderscores(name), withoutUnderscores(known)))
  return names.filter((known) => edits(known) <= (known.length >= 10 ? 2 : 1)).sort((a, b) => edits(a) - edits(b))[0]
}

const withoutUnderscores = (name: string): string => name.replaceAll('_', '')

/** Edit distance of two words. A swap of neighboring letters counts as one edit; more than 2 counts as 3. */
function editsBetween(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3
  const direct = distance(left, right)
  // A swap saves one edit at most.
  if (direct > 3) return 3
  const swapped = Array.from(
    left,
    (letter, at) => left.slice(0, at) + left.charAt(at + 1) + letter + left.slice(at + 2),
  )
  return Math.min(direct, ...swapped.map((word) => 1 + distance(word, right)))
}
