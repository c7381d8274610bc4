import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { notify } from '../../ui/toast.tsx'
import { change } from './use-act.ts'

export function NamePanel() {
  const t = useTranslations('profile.name')
  const common = useTranslations('common')
  const { name } = useMe()
  const save = async (values: { name?: string }) => {
    await api.PATCH('/v5/me', { body: { name: values.name ?? '' } })
    await queryClient.invalidateQueries({ queryKey: ['me'] })
    notify(t('saved'))
  }
  return (
    <Panel title={t('title')}>
      <Form submitLabel={common('save')} isGuarded onSubmit={save}>
        {(errorOf) => (
          <TextField name="name" label={t('label')} defaultValue={name} error={errorOf('name')} autoComplete="name" />
        )}
      </Form>
    </Panel>
  )
}

/** A new address counts once the link that is mailed to it was opened. */
export function AddressPanel() {
  const t = useTranslations('profile.address')
  const { email } = useMe()
  // A new form after each link.
  const [links, setLinks] = useState(0)
  const send = async (values: { email?: string }) => {
    const wanted = values.email?.trim() ?? ''
    await change(() => api.POST('/v5/me/address', { body: { email: wanted } }))
    notify(t('sent', { email: wanted }))
    setLinks((count) => count + 1)
  }
  return (
    <Panel title={t('title')} description={t('text', { email })}>
      <Form key={links} submitLabel={t('submit')} isGuarded onSubmit={send}>
        {(errorOf) => (
          <TextField name="email" type="email" label={t('label')} error={errorOf('email')} autoComplete="email" />
        )}
      </Form>
    </Panel>
  )
}
