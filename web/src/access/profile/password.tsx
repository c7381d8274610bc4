import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../../api/client.ts'
import { useMe, useOrganization } from '../../api/me.ts'
import { PasswordField } from '../../ui/password-field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { notify } from '../../ui/toast.tsx'
import { NewPasswordField } from '../new-password-field.tsx'
import { change } from './use-act.ts'

export function PasswordPanel() {
  const t = useTranslations('profile.password')
  const { email, name } = useMe()
  const organization = useOrganization()
  // Remount the form after each change, so that no password stays on the page.
  const [changes, setChanges] = useState(0)
  const save = async ({ currentPassword, newPassword = '' }: FormValues) => {
    const body = { newPassword, ...(currentPassword !== undefined && { currentPassword }) }
    await change(() => api.POST('/v5/me/password', { body }))
    notify(t('saved'))
    setChanges((count) => count + 1)
  }
  return (
    <Panel title={t('title')} description={t('text')}>
      <Form key={changes} submitLabel={t('submit')} isGuarded onSubmit={save}>
        {(errorOf) => (
          <>
            <PasswordField
              name="currentPassword"
              label={t('current')}
              hint={t('currentHint')}
              error={errorOf('currentPassword')}
              autoComplete="current-password"
            />
            <NewPasswordField
              name="newPassword"
              label={t('new')}
              error={errorOf('newPassword')}
              email={email}
              names={[name, organization.name]}
            />
          </>
        )}
      </Form>
    </Panel>
  )
}
