import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { timeZone as browserZone } from '../../preferences/locale.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { notify } from '../../ui/toast.tsx'
import { change, useAct } from './use-act.ts'

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

/** In which the person's days begin: for the start page, and for what is due on a day. */
export function TimeZonePanel() {
  const t = useTranslations('profile.timeZone')
  const { timeZone } = useMe()
  const act = useAct()
  const save = (chosen: string) =>
    act(() => api.PATCH('/v5/me', { body: { timeZone: chosen === '' ? null : chosen } }), t('saved'))
  // The service may know one that this browser does not.
  const zones = new Set([...(timeZone === null ? [] : [timeZone]), 'UTC', ...Intl.supportedValuesOf('timeZone')])
  return (
    <Panel title={t('title')} description={t('text')}>
      <SelectField
        label={t('label')}
        value={timeZone ?? ''}
        options={[
          { value: '', label: t('unset', { zone: browserZone }) },
          ...[...zones].map((value) => ({ value, label: value.replaceAll('_', ' ') })),
        ]}
        onChange={({ target }) => void save(target.value)}
      />
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
