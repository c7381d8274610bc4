import styles from './keys.module.css'

const isApple = /Mac|iP(?:hone|ad)/.test(navigator.platform)
const names: Record<string, string> = {
  Mod: isApple ? '⌘' : 'Ctrl',
  Enter: '↵',
  Shift: '⇧',
  Escape: 'Esc',
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
}

/** Milliseconds within which the second key of a sequence must follow. */
export const sequenceTimeout = 1000

/** A keyboard shortcut such as `g c` (one after the other) or `Mod+K` (together). */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className={styles.keys}>
      {keys.split(/[ +]/).map((key) => (
        <kbd key={key} className={styles.key}>
          {names[key] ?? key}
        </kbd>
      ))}
    </span>
  )
}
