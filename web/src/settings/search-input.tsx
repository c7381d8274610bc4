import { Search } from 'lucide-react'
import { useEffect, useEffectEvent, useState } from 'react'
import styles from './search-input.module.css'

/** Milliseconds without typing after which the search begins. */
const pause = 250

interface SearchInputProps {
  label: string
  value: string
  onChange(text: string): void
}

/** A search field that reports its text when the person pauses. */
export function SearchInput({ label, value, onChange }: SearchInputProps) {
  const [text, setText] = useState(value)
  const report = useEffectEvent(() => {
    if (text.trim() !== value) onChange(text.trim())
  })
  useEffect(() => {
    const timer = setTimeout(report, pause)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div className={styles.search}>
      <Search size={15} strokeWidth={1.75} className={styles.icon} aria-hidden />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        autoComplete="off"
        spellCheck={false}
        className={styles.input}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  )
}
