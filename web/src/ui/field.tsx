import { type ComponentProps, type ReactNode, useEffect, useId, useState } from 'react'
import { useTranslations } from 'use-intl'
import { refusalText } from '../messages/refusals.ts'
import { classes } from './classes.ts'
import { ErrorText } from './error-text.tsx'
import styles from './field.module.css'

export interface FieldProps {
  label: string
  hint?: ReactNode
  /** The error of the value; announced together with the input. */
  error?: string | undefined
  isOptional?: boolean
}

interface FieldFrameProps extends FieldProps {
  /** Why the typed text is invalid. Shown when the person leaves the input; while it exists, no form is sent. */
  problem?: string | undefined
  children(input: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': true | undefined
    onInvalid(): void
  }): ReactNode
}

/** The inputs in an element whose text is invalid. */
export const unreadableIn = (box: HTMLElement): HTMLInputElement[] =>
  [...box.querySelectorAll('input')].filter(({ validity }) => validity.customError)

/** Shows invalid text in an element's inputs and focuses the first; false if all are valid. */
export function refusesUnreadable(box: HTMLElement): boolean {
  const unreadable = unreadableIn(box)
  for (const input of unreadable) input.checkValidity()
  unreadable[0]?.focus()
  return unreadable.length > 0
}

/** Label, hint and error around any input. */
export function Field({ label, hint, error: refusal, problem, isOptional, children }: FieldFrameProps) {
  const t = useTranslations('common')
  const id = useId()
  const [isLeft, setLeft] = useState(false)
  useEffect(() => {
    const input = document.getElementById(id)
    if (input instanceof HTMLInputElement) input.setCustomValidity(problem ?? '')
  }, [id, problem])
  const error = (isLeft ? problem : undefined) ?? refusal
  const describedBy = classes(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`)
  return (
    <div className={styles.field} onBlur={() => setLeft(true)}>
      <label htmlFor={id} className={styles.label}>
        {label}
        {isOptional && <span className={styles.optional}>{t('optional')}</span>}
      </label>
      {children({
        id,
        'aria-describedby': describedBy || undefined,
        'aria-invalid': error === undefined ? undefined : true,
        onInvalid: () => setLeft(true),
      })}
      <Notes {...{ id, label, hint, error }} />
    </div>
  )
}

/** Label, hint and error around a group of inputs, such as checkboxes. */
export function FieldGroup({ label, hint, error, isOptional, children }: FieldProps & { children: ReactNode }) {
  const t = useTranslations('common')
  const id = useId()
  const describedBy = classes(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`)
  return (
    <fieldset
      className={classes(styles.field, styles.group)}
      aria-describedby={describedBy || undefined}
      {...(error !== undefined && { 'aria-invalid': true, tabIndex: -1 })}
    >
      <legend className={styles.label}>
        {label}
        {isOptional && <span className={styles.optional}>{t('optional')}</span>}
      </legend>
      {children}
      <Notes {...{ id, label, hint, error }} />
    </fieldset>
  )
}

/** The hint and the error below an input; linked by `aria-describedby`. */
function Notes({ id, label, hint, error }: FieldProps & { id: string }) {
  return (
    <>
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className={styles.error}>
          <ErrorText text={errorSentence(label, error)} />
        </p>
      )}
    </>
  )
}

/** Most messages of the service continue the field's name; others are complete sentences. */
function errorSentence(label: string, said: string): string {
  const message = refusalText(said)
  if (/^[a-z]/.test(message) && !/^(?:a|an|the|this|expected|unknown) /.test(message)) return `${label} ${message}`
  return message.charAt(0).toUpperCase() + message.slice(1)
}

export type InputProps = Omit<ComponentProps<'input'>, 'className' | 'style'>

export function TextField({
  label,
  hint,
  error,
  problem,
  isOptional,
  ...input
}: FieldProps & Pick<FieldFrameProps, 'problem'> & InputProps) {
  return (
    <Field {...{ label, hint, error, problem }} {...(isOptional && { isOptional })}>
      {(attributes) => <input type="text" spellCheck={false} {...input} {...attributes} className={styles.input} />}
    </Field>
  )
}

export function TextAreaField({
  label,
  hint,
  error,
  isOptional,
  ...area
}: FieldProps & Omit<ComponentProps<'textarea'>, 'className'>) {
  return (
    <Field {...{ label, hint, error }} {...(isOptional && { isOptional })}>
      {(attributes) => <textarea {...area} {...attributes} className={styles.input} />}
    </Field>
  )
}

export interface Option {
  value: string
  label: string
  /** The heading of the group of options. */
  group?: string
}

/** Selects one of a few values, with the browser's own control, which works best on phones and with the keyboard. */
export function SelectField({
  label,
  hint,
  error,
  isOptional,
  options,
  ...select
}: FieldProps & Omit<ComponentProps<'select'>, 'className' | 'children'> & { options: readonly Option[] }) {
  return (
    <Field {...{ label, hint, error }} {...(isOptional && { isOptional })}>
      {(attributes) => (
        <select {...select} {...attributes} className={styles.input}>
          <Options options={options.filter(({ group }) => group === undefined)} />
          {[...new Set(options.flatMap(({ group }) => group ?? []))].map((group) => (
            <optgroup key={group} label={group}>
              <Options options={options.filter((option) => option.group === group)} />
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  )
}

const Options = ({ options }: { options: readonly Option[] }) =>
  options.map(({ value, label }) => (
    <option key={value} value={value}>
      {label}
    </option>
  ))

/** A checkbox with its text. */
export function CheckField({
  label,
  hint,
  ...input
}: Omit<InputProps, 'type'> & { label: ReactNode; hint?: ReactNode }) {
  return (
    <label className={styles.check}>
      <input type="checkbox" {...input} />
      <span>
        {label}
        {hint !== undefined && <span className={styles.hint}> {hint}</span>}
      </span>
    </label>
  )
}
