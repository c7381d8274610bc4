import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../ui/dialog.tsx'
import { useGoTo } from './location.ts'
import { useMay } from '../api/permissions.ts'
import type { CustomRole, Invitation, Member } from './records.ts'

/** Number of names that are listed; for more people, only the number is shown. */
const maxNames = 5

/** Asks first, and lists the people who have the role. */
export function DeleteRole({ role, onClose }: { role: CustomRole; onClose(): void }) {
  const t = useTranslations('settings.customRoles')
  const common = useTranslations('common')
  const act = useAct()
  const users = useUsers(role)
  const { id, name } = role
  const refresh = ['roles']
  const restore = () => void act(() => send('POST', `/v5/roles/${id}/restore`), { refresh, done: common('undone') })
  const remove = () =>
    act(() => send('DELETE', `/v5/roles/${id}`), { refresh, done: t('deleted', { name }), undo: restore })
  // If the holders of the role are unknown, leave the check to the service.
  if (users === undefined) return null
  if (users.length > 0) return <RoleInUse name={name} users={users} onClose={onClose} />
  return (
    <ConfirmDialog
      title={t('deleteConfirm', { name })}
      description={t('deleteText')}
      action={common('delete')}
      isOpen
      onClose={onClose}
      onConfirm={remove}
    />
  )
}

/** The members with this role and the addresses invited to it; undefined while loading. */
function useUsers({ id }: CustomRole): readonly string[] | undefined {
  const may = useMay()
  const scopes = ['member:list:read', 'invitation:list:read'].map(may)
  const { data, isPending } = useQuery({
    queryKey: ['roles', id, 'users'],
    queryFn: async () => {
      const request = { query: new URLSearchParams({ roleId: id, limit: '100' }) }
      const [members, invitations] = await Promise.all([
        scopes[0] ? send<Member[]>('GET', '/v5/members', request) : { body: [] },
        scopes[1] ? send<Invitation[]>('GET', '/v5/invitations', request) : { body: [] },
      ])
      return [...members.body.map(({ person }) => person.name), ...invitations.body.map(({ email }) => email)]
    },
    staleTime: 0,
    gcTime: 0,
  })
  return isPending ? undefined : (data ?? [])
}

function RoleInUse({ name, users, onClose }: { name: string; users: readonly string[]; onClose(): void }) {
  const t = useTranslations('settings.customRoles')
  const common = useTranslations('common')
  const goTo = useGoTo()
  const rest = users.length - maxNames
  return (
    <Dialog title={t('inUse', { name })} description={t('inUseText')} isOpen onClose={onClose}>
      <ul>
        {users.slice(0, maxNames).map((user) => (
          <li key={user}>{user}</li>
        ))}
        {rest > 0 && <li>{t('more', { count: rest })}</li>}
      </ul>
      <DialogActions>
        <Button onClick={onClose}>{common('cancel')}</Button>
        <Button kind="primary" onClick={() => goTo('members')}>
          {t('showMembers')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
