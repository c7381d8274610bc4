import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useUnsaved } from '../preferences/drafts.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextAreaField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { keepDraft, readDraft } from './drafts.ts'
import type { Finding } from './import-queries.ts'
import styles from './imports.module.css'
import { type Payload, type PayloadField, fieldsOf, withTexts } from './payload-fields.ts'
import { PayloadEditor } from './payload-editor.tsx'
import { useFieldTexts } from './payload-labels.ts'

interface PayloadFormProps {
  /** The id of the row or the refused push that the draft belongs to. */
  subject: string
  /** The body that was sent; undefined if it is not an object. */
  payload: Payload | undefined
  /** The body as text. */
  sent: string
  /** Errors in the body. */
  findings: readonly Pick<Finding, 'path' | 'message'>[]
  submitLabel: string
  /** Rejects with the service's errors, whose fields start with `payload.`. */
  onSubmit(payload: unknown): Promise<void>
  onClose(): void
}

/** Corrects a pushed payload: in a form that marks the invalid fields, or as JSON. Input survives a reload. */
export function PayloadForm({ subject, payload, sent, findings, submitLabel, onSubmit, onClose }: PayloadFormProps) {
  const t = useTranslations('imports')
  const [draft, setDraft] = useState(() => readDraft(subject))
  useUnsaved('form', draft.json !== undefined || Object.keys(draft.texts).length > 0)
  const change = (changes: Partial<typeof draft>) => {
    const next = { ...draft, ...changes }
    setDraft(next)
    keepDraft(subject, next)
  }
  const close = () => {
    keepDraft(subject, undefined)
    onClose()
  }
  const submit = async (corrected: unknown) => {
    await onSubmit(corrected)
    close()
  }
  const current = () => withTexts(payload ?? {}, new Map(Object.entries(draft.texts)))
  const isJson = draft.json !== undefined
  return (
    <div className={styles.editor}>
      <Button
        onClick={() => change({ json: isJson ? undefined : payload ? JSON.stringify(current(), undefined, 2) : sent })}
      >
        {t(isJson ? 'asForm' : 'asJson')}
      </Button>
      {draft.json === undefined ? (
        <FieldForm
          fields={fieldsOf(
            payload ?? {},
            findings.map(({ path }) => path),
          )}
          findings={findings}
          texts={draft.texts}
          onChange={(path, text) => change({ texts: { ...draft.texts, [path]: text } })}
          submitLabel={submitLabel}
          onSubmit={() => submit(current())}
          onClose={close}
        />
      ) : (
        <PayloadEditor
          text={draft.json}
          onChange={(json) => change({ json })}
          submitLabel={submitLabel}
          onSubmit={submit}
          onClose={close}
        />
      )}
    </div>
  )
}

interface FieldFormProps {
  fields: readonly PayloadField[]
  findings: PayloadFormProps['findings']
  texts: Readonly<Record<string, string>>
  onChange(path: string, text: string): void
  submitLabel: string
  onSubmit(): Promise<void>
  onClose(): void
}

function FieldForm({ fields, findings, texts, onChange, submitLabel, onSubmit, onClose }: FieldFormProps) {
  const { groupOf } = useFieldTexts()
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const marked = frame.current?.querySelector<HTMLElement>('[aria-invalid=true]')
    const target = marked ?? frame.current?.querySelector<HTMLElement>('input, textarea, select')
    target?.focus()
  }, [])
  const groups = [...new Set(fields.map(({ path }) => groupOf(path)))]
  return (
    <div ref={frame}>
      <Form onSubmit={onSubmit} onCancel={onClose} submitLabel={submitLabel}>
        {(errorOf) =>
          groups.map((group) => (
            <fieldset key={group} className={styles.group}>
              <legend>{group}</legend>
              {fields
                .filter(({ path }) => groupOf(path) === group)
                .map((field) => (
                  <Value
                    key={field.path}
                    field={field}
                    text={texts[field.path]}
                    finding={findingOf(field.path, findings)}
                    error={errorOf(`payload.${field.path}`)}
                    onChange={(text) => onChange(field.path, text)}
                  />
                ))}
            </fieldset>
          ))
        }
      </Form>
    </div>
  )
}

/** Includes findings about items of a list, which is edited as a whole. */
const findingOf = (path: string, findings: PayloadFormProps['findings']): string | undefined =>
  findings.find((finding) => finding.path === path || finding.path.startsWith(`${path}.`))?.message

interface ValueProps {
  field: PayloadField
  /** The typed text; undefined while it is unchanged. */
  text: string | undefined
  /** The error of the sent value. */
  finding: string | undefined
  /** The error of the typed value. */
  error: string | undefined
  onChange(text: string): void
}

const longText = 80

function Value({ field, text, finding, error, onChange }: ValueProps) {
  const t = useTranslations('imports')
  const { labelOf, sentenceOf } = useFieldTexts()
  const { path, kind, text: sent } = field
  const message = error ?? (text === undefined || text === sent ? finding : undefined)
  const isChanged = text !== undefined && text !== sent
  const hints = [
    kind === 'list' && t('onePerLine'),
    isChanged && (sent === '' ? t('sentNothing') : t('sentValue', { value: sent.replaceAll('\n', ', ') })),
  ].filter((hint) => hint !== false)
  const shared = {
    label: labelOf(path),
    name: `payload.${path}`,
    value: text ?? sent,
    error: message === undefined ? undefined : sentenceOf(path, message),
    ...(hints.length > 0 && { hint: hints.join(' ') }),
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
  }
  if (kind === 'flag')
    return (
      <SelectField
        {...shared}
        options={[
          { value: 'true', label: t('yes') },
          { value: 'false', label: t('no') },
          { value: '', label: t('leftOut') },
        ]}
      />
    )
  if (kind === 'list' || sent.length > longText || sent.includes('\n') || path === 'contact.note')
    return <TextAreaField {...shared} rows={Math.min(8, Math.max(2, shared.value.split('\n').length + 1))} />
  return <TextField {...shared} autoComplete="off" />
}
