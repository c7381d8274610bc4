import { useRef } from 'react'
import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { send } from '../api/client.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Team } from './records.ts'

/** Creates or renames a team. */
export function TeamForm({ team, onDone, onCancel }: { team?: Team; onDone(team: Team): void; onCancel(): void }) {
  const t = useTranslations('settings.teams')
  const common = useTranslations('common')
  const key = useRef(crypto.randomUUID())
  const store = (body: { name: string }) =>
    team
      ? send<Team>('PATCH', `/v5/teams/${team.id}`, { body })
      : send<Team>('POST', '/v5/teams', { body, idempotencyKey: key.current })
  return (
    <Form
      submitLabel={common(team ? 'save' : 'create')}
      onCancel={onCancel}
      onSubmit={async ({ name = '' }) => {
        const { body } = await change(['teams'], () => store({ name }))
        onDone(body)
      }}
    >
      {(errorOf) => (
        <TextField label={t('name')} name="name" defaultValue={team?.name} error={errorOf('name')} autoComplete="off" />
      )}
    </Form>
  )
}
