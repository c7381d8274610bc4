import { Search } from 'lucide-react'
import { type Ref, useEffect, useEffectEvent, useState } from 'react'
import { classes } from './classes.ts'
import styles from './search-field.module.css'

/** Milliseconds without typing after which the search begins. */
const pause = 150

interface SearchFieldProps {
  label: string
  /** The text of the current search. It can change by other means, such as Back. */
  value: string
  onSearch(text: string): void
  /** In a toolbar, it is as small as the buttons next to it. */
  isCompact?: boolean
  ref?: Ref<HTMLInputElement>
}

/** A search that begins when the person pauses. Escape empties it, then leaves it. */
export function SearchField({ label, value, onSearch, isCompact, ref }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const [sent, setSent] = useState(value)
  const [known, setKnown] = useState(value)
  if (known !== value) {
    setKnown(value)
    // What was sent comes back; meanwhile, the person may have typed on.
    if (value !== sent) {
      setSent(value)
      setText(value)
    }
  }
  const search = useEffectEvent(() => {
    const wanted = text.trim()
    if (wanted === value) return
    setSent(wanted)
    onSearch(wanted)
  })
  useEffect(() => {
    const timer = setTimeout(search, pause)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div className={classes(styles.search, isCompact ? styles.compact : styles.wide)}>
      <Search size={isCompact ? 14 : 15} strokeWidth={1.75} aria-hidden />
      <input
        ref={ref}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && (text === '' ? event.currentTarget.blur() : setText(''))}
      />
    </div>
  )
}
