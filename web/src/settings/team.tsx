import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { NotFound } from '../ui/states.tsx'
import { Button } from '../ui/button.tsx'
import { CopyRequest } from '../ui/copy-request.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { Avatar } from '../ui/tag.tsx'
import { Paged, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { Member, Team, TeamMember } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import { TeamForm } from './team-form.tsx'

/** A team: its name and its members. */
export function TeamPage({ teamId }: { teamId: string }) {
  const t = useTranslations('settings.teams')
  const team = useQuery({
    queryKey: ['teams', teamId],
    queryFn: async () => (await send<Team>('GET', `/v5/teams/${teamId}`)).body,
  })
  if (team.error instanceof ApiError && team.error.status === 404) return <NotFound />
  return (
    <>
      <SectionBar title={team.data?.name ?? t('title')} parent={{ section: 'teams', title: t('all') }}>
        {team.data && <TeamActions team={team.data} />}
      </SectionBar>
      <PageContent isNarrow>
        {team.error && <Failure error={team.error} onRetry={() => void team.refetch()} />}
        {team.data && <TeamMembers team={team.data} />}
      </PageContent>
    </>
  )
}

function TeamActions({ team }: { team: Team }) {
  const t = useTranslations('settings.teams')
  const act = useAct()
  const common = useTranslations('common')
  const navigate = useNavigate()
  const may = useMay()
  const [open, setOpen] = useState<'rename' | 'delete'>()
  const close = () => setOpen(undefined)
  const options = { refresh: ['teams'] }
  const restore = () =>
    void act(() => send('POST', `/v5/teams/${team.id}/restore`), { ...options, done: common('undone') })
  const remove = () =>
    act(
      async () => {
        await send('DELETE', `/v5/teams/${team.id}`)
        // Not before the page is left: it would ask for the deleted team.
        await navigate({ to: '/settings/$section', params: { section: 'teams' }, search: {} })
      },
      { ...options, done: t('deleted', { name: team.name }), undo: restore },
    )
  return (
    <>
      {may('team:update:write') && (
        <Button icon={Pencil} onClick={() => setOpen('rename')}>
          {t('rename')}
        </Button>
      )}
      {may('team:delete:write') && !team.isDefault && (
        <Button icon={Trash2} onClick={() => setOpen('delete')}>
          {common('delete')}
        </Button>
      )}
      <Dialog title={t('renameTitle', { name: team.name })} isOpen={open === 'rename'} onClose={close}>
        <TeamForm team={team} onDone={close} onCancel={close} />
      </Dialog>
      <ConfirmDialog
        title={t('deleteConfirm', { name: team.name })}
        description={t('deleteText')}
        action={common('delete')}
        isOpen={open === 'delete'}
        onClose={close}
        onConfirm={remove}
      />
    </>
  )
}

function TeamMembers({ team }: { team: Team }) {
  const t = useTranslations('settings.teams')
  const may = useMay()
  const [isAdding, setAdding] = useState(false)
  const path = `/v5/teams/${team.id}/members`
  const pages = usePages<TeamMember>(path)
  return (
    <Panel
      title={t('members')}
      description={t(team.isDefault ? 'defaultText' : 'membersText')}
      actions={
        <>
          <CopyRequest path={path} />
          {may('team-member:create:write') && !team.isDefault && (
            <Button icon={Plus} onClick={() => setAdding(true)}>
              {t('add')}
            </Button>
          )}
        </>
      }
    >
      <Paged pages={pages} empty={t('noMembers')}>
        {(members) => (
          <List label={t('members')}>
            {members.map((member) => (
              <TeamMemberRow key={member.id} team={team} member={member} />
            ))}
          </List>
        )}
      </Paged>
      <Dialog title={t('addTitle', { name: team.name })} isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddMembers team={team} />
      </Dialog>
    </Panel>
  )
}

function TeamMemberRow({ team, member: { id, person } }: { team: Team; member: TeamMember }) {
  const t = useTranslations('settings.teams')
  const act = useAct()
  const common = useTranslations('common')
  const may = useMay()
  const path = `/v5/teams/${team.id}/members/${id}`
  const options = { refresh: ['teams', team.id] }
  const undo = () => void act(() => send('POST', path), { ...options, done: common('undone') })
  const remove = () =>
    void act(() => send('DELETE', path), { ...options, done: t('removed', { name: person.name }), undo })
  return (
    <ListRow leading={<Avatar name={person.name} />} title={person.name} text={person.email}>
      {may('team-member:delete:write') && !team.isDefault && (
        <Button kind="quiet" onClick={remove} aria-label={t('removeNamed', { name: person.name })}>
          {common('remove')}
        </Button>
      )}
    </ListRow>
  )
}

/** Finds members by name and adds them one by one. */
function AddMembers({ team }: { team: Team }) {
  const t = useTranslations('settings.teams')
  const act = useAct()
  const common = useTranslations('common')
  const [text, setText] = useState('')
  const [added, setAdded] = useState<readonly string[]>([])
  const pages = usePages<Member>(
    '/v5/members',
    { orderBy: 'person', sort: 'asc', ...(text !== '' && { 'filter.person.name.contains': text }) },
    8,
  )
  const add = (id: string, name: string) =>
    void act(
      async () => {
        await send('POST', `/v5/teams/${team.id}/members/${id}`)
        setAdded((ids) => [...ids, id])
      },
      { refresh: ['teams', team.id], done: t('added', { name }) },
    )
  return (
    <>
      <SearchField label={t('search')} value={text} onSearch={setText} />
      <Paged pages={pages} empty={t('noMatch')}>
        {(members) => (
          <List label={t('candidates')}>
            {members.map(({ id, person: { name, email } }) => (
              <ListRow key={id} leading={<Avatar name={name} />} title={name} text={email}>
                <Button
                  disabled={added.includes(id)}
                  aria-label={t(added.includes(id) ? 'addedNamed' : 'addNamed', { name })}
                  onClick={() => add(id, name)}
                >
                  {added.includes(id) ? t('isAdded') : common('add')}
                </Button>
              </ListRow>
            ))}
          </List>
        )}
      </Paged>
    </>
  )
}
