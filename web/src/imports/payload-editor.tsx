import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { TextAreaField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { notify } from '../ui/toast.tsx'
import { change, type RowDetails, rowsPathOf } from './import-queries.ts'
import styles from './imports.module.css'

/** Corrects the payload of a row and queues it again. */
export function PayloadEditor({ row, onClose }: { row: RowDetails; onClose(): void }) {
  const t = useTranslations('imports')
  const [text, setText] = useState(() => JSON.stringify(row.payload, undefined, 2))
  const save = async () => {
    const payload = parse(text, t('notJson'))
    await change(`${rowsPathOf(row.importId)}/${row.id}`, { payload }, 'PATCH')
    onClose()
    notify(t('retried'))
  }
  return (
    <div className={styles.editor}>
      <Form onSubmit={save} onCancel={onClose} submitLabel={t('saveAndRetry')}>
        {(errorOf) => (
          <TextAreaField
            label={t('payloadLabel')}
            error={errorOf('payload')}
            spellCheck={false}
            rows={14}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Form>
    </div>
  )
}

/** Errors: like those of the service, so that the form shows them next to the field. */
function parse(text: string, message: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const details = [{ field: 'payload', message: `${message} ${error instanceof Error ? error.message : ''}` }]
    throw new ApiError(422, { code: 'validation_error', message, description: message, details }, undefined)
  }
}
