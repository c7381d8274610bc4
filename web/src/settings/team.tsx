import { useNavigate } from '@tanstack/react-router'
import { Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { List, ListRow } from '../ui/page.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { Avatar } from '../ui/tag.tsx'
import { ConfirmButton, DialogButton } from './dialog-buttons.tsx'
import { ListPanel } from './list-panel.tsx'
import { Paged, usePages } from './paged.tsx'
import { PartPage } from './part-page.tsx'
import { useMay } from '../api/permissions.ts'
import type { Member, Team, TeamMember } from './records.ts'
import { TeamForm } from './team-form.tsx'

/** A team: its name and its members. */
export function TeamPage({ teamId }: { teamId: string }) {
  const t = useTranslations('settings.teams')
  return (
    <PartPage<Team>
      section="teams"
      id={teamId}
      title={t('title')}
      listTitle={t('all')}
      actions={(team) => <TeamActions team={team} />}
    >
      {(team) => team && <TeamMembers team={team} />}
    </PartPage>
  )
}

function TeamActions({ team }: { team: Team }) {
  const t = useTranslations('settings.teams')
  const act = useAct()
  const common = useTranslations('common')
  const navigate = useNavigate()
  const may = useMay()
  const options = { refresh: ['teams'] }
  const restore = () =>
    void act(() => send('POST', `/v5/teams/${team.id}/restore`), { ...options, done: common('undone') })
  const remove = () =>
    act(
      async () => {
        await send('DELETE', `/v5/teams/${team.id}`)
        // Only after the page is left: it would fetch the deleted team.
        await navigate({ to: '/settings/$section', params: { section: 'teams' }, search: {} })
      },
      { ...options, done: t('deleted', { name: team.name }), undo: restore },
    )
  return (
    <>
      {may('team:update:write') && (
        <DialogButton icon={Pencil} label={t('rename')} title={t('renameTitle', { name: team.name })}>
          {(close) => <TeamForm team={team} onDone={close} onCancel={close} />}
        </DialogButton>
      )}
      {may('team:delete:write') && !team.isDefault && (
        <ConfirmButton
          icon={Trash2}
          label={common('delete')}
          title={t('deleteConfirm', { name: team.name })}
          description={t('deleteText')}
          onConfirm={remove}
        />
      )}
    </>
  )
}

function TeamMembers({ team }: { team: Team }) {
  const t = useTranslations('settings.teams')
  const may = useMay()
  const path = `/v5/teams/${team.id}/members`
  const pages = usePages<TeamMember>(path)
  return (
    <ListPanel
      title={t('members')}
      description={t(team.isDefault ? 'defaultText' : 'membersText')}
      path={path}
      pages={pages}
      empty={t('noMembers')}
      actions={
        may('team-member:create:write') &&
        !team.isDefault && (
          <DialogButton icon={Plus} label={t('add')} title={t('addTitle', { name: team.name })}>
            {() => <AddMembers team={team} />}
          </DialogButton>
        )
      }
    >
      {(member) => <TeamMemberRow team={team} member={member} />}
    </ListPanel>
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
    { pageSize: 8 },
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
