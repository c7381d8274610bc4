import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { TextAreaField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'

interface PayloadEditorProps {
  text: string
  onChange(text: string): void
  submitLabel: string
  onSubmit(payload: unknown): Promise<void>
  onClose(): void
}

/** A payload as JSON. */
export function PayloadEditor({ text, onChange, submitLabel, onSubmit, onClose }: PayloadEditorProps) {
  const t = useTranslations('imports')
  return (
    <Form onSubmit={() => onSubmit(parse(text, t('notJson')))} onCancel={onClose} submitLabel={submitLabel}>
      {(errorOf) => (
        <TextAreaField
          label={t('payloadLabel')}
          error={errorOf('payload')}
          spellCheck={false}
          rows={14}
          value={text}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Form>
  )
}

/** Errors have the service's format, so that the form shows them next to the field. */
function parse(text: string, message: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const details = [{ field: 'payload', message: `${message} ${error instanceof Error ? error.message : ''}` }]
    throw new ApiError(422, { code: 'validation_error', message, description: message, details }, undefined)
  }
}
