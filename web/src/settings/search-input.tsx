import { useEffect, useEffectEvent, useState } from 'react'
import { TextField } from '../ui/field.tsx'

/** Milliseconds without typing after which the search begins. */
const pause = 250

/** A search field that reports its text when the person pauses. */
export function SearchInput({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange(text: string): void
}) {
  const [text, setText] = useState(value)
  const report = useEffectEvent(() => {
    if (text.trim() !== value) onChange(text.trim())
  })
  useEffect(() => {
    const timer = setTimeout(report, pause)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <TextField
      type="search"
      label={label}
      value={text}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
    />
  )
}
