import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import styles from './tag.module.css'

export const tints = ['gray', 'blue', 'teal', 'green', 'orange', 'red', 'violet', 'pink'] as const
export type Tint = (typeof tints)[number]

const colorful = tints.filter((tint) => tint !== 'gray' && tint !== 'red')

/** The same text always gets the same tint. */
export function tintOf(text: string, among: readonly Tint[] = colorful): Tint {
  let hash = 0
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 997
  return among[hash % among.length] ?? 'gray'
}

const stateTints: Readonly<Record<string, Tint>> = {
  won: 'green',
  lost: 'red',
  urgent: 'red',
  high: 'orange',
  normal: 'blue',
  low: 'gray',
}
const openTints = colorful.filter((tint) => tint !== 'green')

/** The tint for a state: green for won, red for lost or urgent. */
export const tintOfState = (state: unknown, text: string): Tint =>
  stateTints[String(state)] ?? tintOf(text, state === 'open' ? openTints : colorful)

/** A short text on a tinted background; `hasDot` marks it as a state. */
export function Tag({ tint = 'gray', hasDot, children }: { tint?: Tint; hasDot?: boolean; children: ReactNode }) {
  return (
    <span className={classes(styles.tag, styles[tint])}>
      {hasDot && <span className={styles.dot} />}
      <span className="truncate">{children}</span>
    </span>
  )
}

/** Up to two initials; square for companies and other things, round for people. Hidden from assistive technology. */
export function Avatar({ name, isSquare, isLarge }: { name: string; isSquare?: boolean; isLarge?: boolean }) {
  const words = name.split(/\s+/).filter(Boolean)
  const letters = isSquare ? [words[0]] : [words[0], words.length > 1 ? words.at(-1) : undefined]
  const initials = letters.map((word) => (word ? String.fromCodePoint(word.codePointAt(0) ?? 0) : '')).join('')
  return (
    <span
      className={classes(styles.avatar, isSquare && styles.square, isLarge && styles.large, styles[tintOf(name)])}
      aria-hidden
    >
      {initials || '?'}
    </span>
  )
}
