import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useSeen } from '../api/use-seen.ts'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { notify } from '../ui/toast.tsx'
import type { SsoConnection } from './records.ts'

interface SsoConnectionFormProps {
  /** Undefined to add a connection. */
  connection?: SsoConnection
  onDone(): void
  onCancel(): void
}

/** Adds or changes a connection to an identity provider. The client secret is never shown again. */
export function SsoConnectionForm({ connection, onDone, onCancel }: SsoConnectionFormProps) {
  const t = useTranslations('settings.sso')
  const roles = useTranslations('settings.roles')
  const common = useTranslations('common')
  const post = usePostOnce()
  const seen = useSeen(connection)
  const submit = async (values: FormValues) => {
    const body = bodyOf(values)
    await change(['sso-connections'], () =>
      seen ? sendEdit({ ...editOf('sso-connections', seen), values: body }) : post('/v5/sso-connections', body),
    )
    notify(t('saved', { name: body.name }))
    onDone()
  }
  return (
    <Form
      draft={`connection ${connection?.id ?? 'new'}`}
      submitLabel={connection ? common('save') : t('add')}
      onCancel={onCancel}
      onSubmit={submit}
    >
      {(errorOf) => (
        <>
          <TextField name="name" label={t('name')} defaultValue={connection?.name} error={errorOf('name')} />
          <TextField
            type="url"
            name="issuer"
            label={t('issuer')}
            hint={t('issuerHint')}
            defaultValue={connection?.issuer}
            error={errorOf('issuer')}
          />
          <TextField
            name="clientId"
            label={t('clientId')}
            defaultValue={connection?.clientId}
            error={errorOf('clientId')}
            autoComplete="off"
          />
          <PasswordField
            name="clientSecret"
            label={t('clientSecret')}
            hint={t(connection?.hasClientSecret ? 'secretKept' : 'secretHint')}
            error={errorOf('clientSecret')}
            autoComplete="off"
          />
          <SelectField
            name="defaultRole"
            label={t('defaultRole')}
            hint={t('defaultRoleHint')}
            defaultValue={connection?.defaultRole ?? ''}
            error={errorOf('defaultRole')}
            options={[
              { value: '', label: t('nobodyJoins') },
              { value: 'viewer', label: roles('viewer') },
              { value: 'member', label: roles('member') },
            ]}
          />
          <CheckField name="enabled" label={t('isEnabled')} defaultChecked={connection?.enabled ?? true} />
        </>
      )}
    </Form>
  )
}

const bodyOf = ({ name = '', issuer = '', clientId = '', clientSecret, defaultRole, enabled }: FormValues) => ({
  name,
  issuer,
  clientId,
  // If the input is empty, the stored secret stays.
  ...(clientSecret !== undefined && { clientSecret }),
  defaultRole: defaultRole ?? null,
  enabled: enabled !== undefined,
})
