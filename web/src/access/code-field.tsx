import { TextField } from '../ui/field.tsx'

interface CodeFieldProps {
  label: string
  hint?: string
  error: string | undefined
}

/** The six digits from an authenticator app, as the field `code`. The service ignores spaces in them. */
export const CodeField = (props: CodeFieldProps) => (
  <TextField {...props} name="code" inputMode="numeric" autoComplete="one-time-code" />
)
