import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { useMe, useOrganization } from '../api/me.ts'
import { CheckField, FieldGroup, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { Panel } from '../ui/page.tsx'
import { notify } from '../ui/toast.tsx'
import { entryKinds } from './inbox-data.ts'
import styles from './inbox.module.css'
import { saveDigest, type Settings, waysOf, weekDays } from './settings-data.ts'

/** When the daily mail is sent. */
export function DigestPanel({ settings }: { settings: Settings }) {
  const t = useTranslations('inbox.digest')
  const common = useTranslations('common')
  const format = useFormatter()
  const [seen, setSeen] = useState(settings)
  const isUsed = entryKinds.some((kind) => waysOf(settings, kind).includes('digest'))
  const save = async (values: FormValues) => {
    const next = {
      digestAt: values.digestAt ?? '',
      digestDays: weekDays.filter((day) => values[day] !== undefined),
    }
    await saveDigest(seen, next)
    setSeen({ ...seen, ...next })
    notify(t('saved'))
  }
  return (
    <Panel title={t('title')} description={isUsed ? t('text') : t('unused')}>
      <Form draft="digest" isGuarded submitLabel={common('save')} onSubmit={save}>
        {(errorOf) => (
          <>
            <TextField
              label={t('at')}
              type="time"
              name="digestAt"
              defaultValue={seen.digestAt}
              hint={<Zone />}
              error={errorOf('digestAt')}
            />
            <FieldGroup label={t('days')} error={errorOf('digestDays')}>
              <div className={styles.weekDays}>
                {weekDays.map((day, index) => (
                  <CheckField
                    key={day}
                    name={day}
                    label={format.dateTime(new Date(Date.UTC(2024, 0, 1 + index)), {
                      weekday: 'long',
                      timeZone: 'UTC',
                    })}
                    defaultChecked={seen.digestDays.includes(day)}
                  />
                ))}
              </div>
            </FieldGroup>
          </>
        )}
      </Form>
    </Panel>
  )
}

function Zone() {
  const t = useTranslations('inbox.digest')
  const { timeZone } = useMe()
  const organization = useOrganization()
  return t.rich(timeZone === null ? 'organizationZone' : 'ownZone', {
    zone: (timeZone ?? organization.timeZone).replaceAll('_', ' '),
    link: (text) => (
      <Link to="/profile" className={styles.zoneLink}>
        {text}
      </Link>
    ),
  })
}
