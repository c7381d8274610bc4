import { useState } from 'react'
import { TextField } from '../ui/field.tsx'

/** An input for a day. Ignores days whose year is still being typed: the first digits of a year are also valid. */
export function DateField({ label, value, onChange }: { label: string; value: string; onChange(day: string): void }) {
  const [text, setText] = useState(value)
  const [reported, setReported] = useState(value)
  if (value !== reported) {
    setReported(value)
    setText(value)
  }
  const change = (day: string) => {
    setText(day)
    if (day === '' || day >= '2000') onChange(day)
  }
  return <TextField type="date" label={label} value={text} onChange={(event) => change(event.target.value)} />
}
