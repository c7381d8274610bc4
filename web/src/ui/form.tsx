import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { refusalText } from '../messages/refusals.ts'
import { useUnsaved } from '../preferences/drafts.ts'
import { Button, type ButtonKind } from './button.tsx'
import { DialogActions } from './dialog.tsx'
import { ErrorText } from './error-text.tsx'
import { refusesUnreadable } from './field.tsx'
import styles from './field.module.css'
import { useFormDraft } from './form-draft.ts'
import { UnsavedGuard } from './unsaved-guard.tsx'

/** The service's errors for a form: a sentence by field, and one for the form as a whole. */
interface FormErrors {
  fields: Readonly<Record<string, string>>
  summary?: string
}

/** The values of a form's inputs by name, without empty ones. */
export type FormValues = Readonly<Record<string, string>>

interface FormProps {
  /** Sends the values. Rejects with an `ApiError`, whose details appear next to their fields. */
  onSubmit(values: FormValues): Promise<void>
  submitLabel: string
  submitKind?: ButtonKind
  onCancel?(): void
  isWide?: boolean
  /** Asks for confirmation before the person leaves the page and loses changes. */
  isGuarded?: boolean
  /**
   * The key under which named inputs are stored until the form is sent or closed, for a reload or a log-in elsewhere.
   */
  draft?: string
  /** Do the other inputs show the values of a draft? */
  isRestored?: boolean
  /** Has something other than an input changed, such as the order of rows? */
  isChanged?: boolean
  /** The names of the fields in the form; errors of other fields appear above the button. */
  children(errorOf: (field: string) => string | undefined, isBusy: boolean): ReactNode
}

/** A form. Enter submits it once; all errors appear together, and the first field with an error gets the focus. */
export function Form(props: FormProps) {
  const { onSubmit, submitLabel, submitKind = 'primary', onCancel, isWide, isGuarded, draft, children } = props
  const t = useTranslations('common')
  const form = useRef<HTMLFormElement>(null)
  const isSending = useRef(false)
  const [errors, setErrors] = useState<FormErrors>({ fields: {} })
  const [isBusy, setBusy] = useState(false)
  const [failures, setFailures] = useState(0)
  const [isEdited, setChanged] = useState(false)
  const stored = useFormDraft(form, draft)
  const isRestored = stored.isRestored || props.isRestored === true
  const isChanged = isEdited || isRestored || props.isChanged === true
  useUnsaved('form', (draft !== undefined || isGuarded === true) && (isChanged || isBusy))
  useEffect(() => {
    if (failures === 0) return
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [failures])
  const shown = new Set<string>()
  const errorOf = (field: string) => {
    shown.add(field)
    return errors.fields[field]
  }
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    // React bubbles events of a form in a dialog to the form that opened it.
    event.stopPropagation()
    // Both the button and Enter in a field would submit again.
    if (isSending.current) return
    if (refusesUnreadable(event.currentTarget)) return
    isSending.current = true
    const values = valuesOf(event.currentTarget)
    setBusy(true)
    setErrors({ fields: {} })
    try {
      await onSubmit(values)
      setChanged(false)
      stored.forget()
    } catch (error) {
      setErrors(formErrors(error, t('unreachable')))
      setFailures((count) => count + 1)
    } finally {
      isSending.current = false
      setBusy(false)
    }
  }
  const forgetErrorOf = (name: string) => {
    if (errors.fields[name] === undefined) return
    const { [name]: _, ...fields } = errors.fields
    setErrors({ ...errors, fields })
  }
  const fields = children(errorOf, isBusy)
  const others = Object.entries(errors.fields).filter(([name]) => !shown.has(name))
  return (
    <form
      ref={form}
      className={styles.form}
      onSubmit={(event) => void submit(event)}
      onInput={({ target }) => {
        forgetErrorOf((target as HTMLInputElement).name)
        setChanged(true)
        stored.store()
      }}
      noValidate
    >
      {isRestored && (
        <p role="status" className={styles.hint}>
          {t('draftRestored')}
        </p>
      )}
      {fields}
      {isGuarded && <UnsavedGuard isUnsaved={isChanged && !isBusy} />}
      {(errors.summary !== undefined || others.length > 0) && (
        <div role="alert" className={styles.summary}>
          {errors.summary !== undefined && <ErrorText text={errors.summary} />}
          {others.map(([name, message]) => (
            <p key={name}>
              <ErrorText text={`${name}: ${refusalText(message)}`} />
            </p>
          ))}
        </div>
      )}
      <DialogActions>
        {onCancel && <Button onClick={onCancel}>{t('cancel')}</Button>}
        <Button type="submit" kind={submitKind} isBusy={isBusy} {...(isWide && { isWide })}>
          {submitLabel}
        </Button>
      </DialogActions>
    </form>
  )
}

const valuesOf = (form: HTMLFormElement): FormValues =>
  Object.fromEntries(
    [...new FormData(form)].filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1].trim() !== '',
    ),
  )

/** The errors of a failed request by field; all others become the summary. */
export function formErrors(error: unknown, unreachable: string): FormErrors {
  if (!(error instanceof ApiError)) return { fields: {}, summary: unreachable }
  const fields = Object.fromEntries(error.details.map(({ field, message }) => [field, message]))
  return Object.keys(fields).length > 0 ? { fields } : { fields, summary: error.description }
}
