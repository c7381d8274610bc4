import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { usePostOnce } from '../api/post-once.ts'
import { SelectField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'

interface RotateFormProps<T> {
  /** The path of the record whose one-time secret is replaced. */
  path: string
  /** Gets the record with its new secret. */
  onDone(rotated: T): void
  onCancel(): void
}

/** Replaces a one-time secret, and asks how long the previous one stays valid. */
export function RotateForm<T>({ path, onDone, onCancel }: RotateFormProps<T>) {
  const t = useTranslations('settings.rotation')
  const post = usePostOnce()
  const [, , resource = ''] = path.split('/')
  const overlaps = [
    { value: '86400', label: t('overlapDay') },
    { value: '3600', label: t('overlapHour') },
    { value: '604800', label: t('overlapWeek') },
    { value: '0', label: t('overlapNone') },
  ]
  return (
    <Form
      submitLabel={t('action')}
      onCancel={onCancel}
      onSubmit={async (values) => {
        const body = { overlapSeconds: Number(values.overlapSeconds) }
        onDone((await change([resource], () => post<T>(`${path}/rotate`, body))).body)
      }}
    >
      {(errorOf) => (
        <SelectField
          name="overlapSeconds"
          label={t('overlap')}
          options={overlaps}
          defaultValue="86400"
          error={errorOf('overlapSeconds')}
        />
      )}
    </Form>
  )
}
