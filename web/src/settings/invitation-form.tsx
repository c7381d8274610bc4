import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { usePostOnce } from '../api/post-once.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Invitation, Team } from './records.ts'
import { roleOfChoice, useRoleOptions } from './role-menu.tsx'
import styles from './settings.module.css'

const lifetimes = [1, 7, 14, 30]

/** Invites a person by email. */
export function InvitationForm({ onDone, onCancel }: { onDone(email: string): void; onCancel(): void }) {
  const t = useTranslations('settings.invitations')
  const roles = useRoleOptions()
  const post = usePostOnce()
  const teams = useQuery({
    queryKey: ['teams', 'choices'],
    queryFn: async () => {
      const query = new URLSearchParams({
        limit: '100',
        orderBy: 'name',
        sort: 'asc',
        'filter.isDefault.equals': 'false',
      })
      return (await send<Team[]>('GET', '/v5/teams', { query })).body
    },
  })
  return (
    <Form
      draft="invitation"
      submitLabel={t('submit')}
      onCancel={onCancel}
      onSubmit={async ({ expiresInDays, role = '', ...values }) => {
        const body = { ...values, ...roleOfChoice(role), expiresInDays: Number(expiresInDays) }
        const { body: invitation } = await change(['invitations'], () =>
          post<Invitation>('/v5/invitations', body),
        ).catch((error: unknown) => {
          throw isTaken(error) ? withAdvice(error, t('alreadyInvited')) : error
        })
        onDone(invitation.email)
      }}
    >
      {(errorOf) => (
        <>
          <TextField
            type="email"
            name="email"
            label={t('email')}
            error={errorOf('email')}
            autoComplete="off"
            inputMode="email"
          />
          <SelectField
            name="role"
            label={t('role')}
            hint={t('roleHint')}
            error={errorOf('role')}
            options={roles}
            defaultValue="member"
          />
          <div className={styles.columns}>
            <SelectField
              name="teamId"
              label={t('team')}
              error={errorOf('teamId')}
              options={[
                { value: '', label: t('noTeam') },
                ...(teams.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
              ]}
            />
            <SelectField
              name="expiresInDays"
              label={t('lifetime')}
              error={errorOf('expiresInDays')}
              options={lifetimes.map((days) => ({ value: String(days), label: t('days', { days }) }))}
              defaultValue="7"
            />
          </div>
        </>
      )}
    </Form>
  )
}

const isTaken = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.details.some(({ message }) => message.includes('(inv_'))

/** The service names the other invitation by its id; the person finds it in the list by its address. */
const withAdvice = ({ status, code, title, requestId }: ApiError, advice: string): ApiError =>
  new ApiError(
    status,
    { code, message: title, description: advice, details: [{ field: 'email', message: advice }] },
    requestId,
  )
