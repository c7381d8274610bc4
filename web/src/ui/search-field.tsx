import { Search } from 'lucide-react'
import { type Ref, useEffect, useEffectEvent, useState } from 'react'
import { classes } from './classes.ts'
import styles from './search-field.module.css'

/** Milliseconds without typing before the search starts. */
const pause = 150

interface SearchFieldProps {
  label: string
  /** The text of the current search. It can also change otherwise, such as by Back. */
  value: string
  onSearch(text: string): void
  /** In a toolbar, the field is as small as the buttons. */
  isCompact?: boolean
  ref?: Ref<HTMLInputElement>
}

/** A search that starts when the person pauses. Escape clears it, then leaves it. */
export function SearchField({ label, value, onSearch, isCompact, ref }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const [sent, setSent] = useState(value)
  const [known, setKnown] = useState(value)
  if (known !== value) {
    setKnown(value)
    // The sent text comes back as a prop; meanwhile, the person may have typed more.
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
