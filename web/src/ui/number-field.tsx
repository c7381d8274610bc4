import { type ComponentProps, useState } from 'react'
import { TextField } from './field.tsx'
import { type NumberRules, Unreadable, useNumbers } from './use-numbers.ts'

interface NumberFieldProps extends Omit<
  ComponentProps<typeof TextField>,
  'type' | 'value' | 'defaultValue' | 'onChange'
> {
  defaultValue?: number | undefined
  rules: NumberRules
  /** Called with undefined while the text is not a number. */
  onNumber?(number: number | undefined): void
}

/**
 * A number in the format of the page's locale. The form contains its text under its name; parse it with `useNumbers`.
 */
export function NumberField({ defaultValue, rules, onNumber, ...field }: NumberFieldProps) {
  const numbers = useNumbers()
  const [text, setText] = useState(numbers.write(defaultValue))
  const [problem, setProblem] = useState<string>()
  const change = (changed: string) => {
    setText(changed)
    const read = changed.trim() === '' ? undefined : numbers.readJson(changed, rules)
    setProblem(read instanceof Unreadable ? read.problem : undefined)
    onNumber?.(read instanceof Unreadable ? undefined : read)
  }
  return (
    <TextField
      {...field}
      inputMode="decimal"
      autoComplete="off"
      problem={problem}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  )
}
