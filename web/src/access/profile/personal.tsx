import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../../api/client.ts'
import { sendEdit } from '../../api/edit.ts'
import { useMe } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { timeZone as browserZone } from '../../preferences/locale.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { notify } from '../../ui/toast.tsx'
import { change, useAct } from './use-act.ts'

/** The account has no entity tag. */
const edit = { path: '/v5/me', resource: 'members' }

export function NamePanel() {
  const t = useTranslations('profile.name')
  const common = useTranslations('common')
  const { name } = useMe()
  const [seen, setSeen] = useState({ name })
  const save = async (values: { name?: string }) => {
    const { body } = await sendEdit<{ name: string }>({ ...edit, seen, values: { name: values.name ?? '' } })
    setSeen({ name: body.name })
    await queryClient.invalidateQueries({ queryKey: ['me'] })
    notify(t('saved'))
  }
  return (
    <Panel title={t('title')}>
      <Form draft="own name" submitLabel={common('save')} isGuarded onSubmit={save}>
        {(errorOf) => (
          <TextField name="name" label={t('label')} defaultValue={name} error={errorOf('name')} autoComplete="name" />
        )}
      </Form>
    </Panel>
  )
}

/** The time zone in which the person's days begin, used by the start page and for due dates. */
export function TimeZonePanel() {
  const t = useTranslations('profile.timeZone')
  const { timeZone } = useMe()
  const act = useAct()
  const save = (chosen: string) =>
    act(
      () => sendEdit({ ...edit, seen: { timeZone }, values: { timeZone: chosen === '' ? null : chosen } }),
      t('saved'),
    )
  // The service may know a zone that this browser does not.
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

/** A new address takes effect when the person opens the link that is mailed to it. */
export function AddressPanel() {
  const t = useTranslations('profile.address')
  const { email } = useMe()
  // Remount the form after each link.
  const [links, setLinks] = useState(0)
  const send = async (values: { email?: string }) => {
    const wanted = values.email?.trim() ?? ''
    await change(() => api.POST('/v5/me/address', { body: { email: wanted } }))
    notify(t('sent', { email: wanted }))
    setLinks((count) => count + 1)
  }
  return (
    <Panel title={t('title')} description={t('text', { email })}>
      <Form key={links} draft="own address" submitLabel={t('submit')} isGuarded onSubmit={send}>
        {(errorOf) => (
          <TextField name="email" type="email" label={t('label')} error={errorOf('email')} autoComplete="email" />
        )}
      </Form>
    </Panel>
  )
}
