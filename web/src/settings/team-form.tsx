import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useSeen } from '../api/use-seen.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Team } from './records.ts'

/** Creates or renames a team. */
export function TeamForm({ team, onDone, onCancel }: { team?: Team; onDone(team: Team): void; onCancel(): void }) {
  const t = useTranslations('settings.teams')
  const common = useTranslations('common')
  const post = usePostOnce()
  const seen = useSeen(team)
  const store = (body: { name: string }) =>
    seen ? sendEdit<Team>({ ...editOf('teams', seen), values: body }) : post<Team>('/v5/teams', body)
  return (
    <Form
      draft={`team ${team?.id ?? 'new'}`}
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
