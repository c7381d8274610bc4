import { closest, distance } from 'fastest-levenshtein'
import { maxSuggestions } from './errors.ts'

/** Limits the suggestions per request: after the first few unknown names, nothing is compared. */
export class Suggestions {
  #left: number

  constructor(count = maxSuggestions) {
    this.#left = count
  }

  for(name: string, known: readonly string[]): string | undefined {
    if (this.#left === 0) return undefined
    this.#left -= 1
    return suggest(name, known)
  }
}

export function suggest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 80 || known.length === 0) return undefined
  const nearest = closest(name, known)
  return distance(name.toLowerCase(), nearest.toLowerCase()) <= (nearest.length < 5 ? 1 : Math.ceil(nearest.length / 3))
    ? nearest
    : undefined
}
