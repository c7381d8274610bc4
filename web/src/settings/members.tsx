import { useQuery } from '@tanstack/react-query'
import { Ellipsis, MailPlus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { useMe, useRole } from '../api/me.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ListRow, PageContent } from '../ui/page.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { Avatar, Tag } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { useLastLogins } from './last-logins.ts'
import { ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { recordsOf, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { Option } from '../ui/field.tsx'
import type { Member } from './records.ts'
import { RoleMenu, roleOfChoice, useRoleName } from './role-menu.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

const path = '/v5/members'

/** The members of the organization and their roles. */
export function Members() {
  const t = useTranslations('settings.members')
  const may = useMay()
  const goTo = useGoTo()
  const { q = '' } = useSectionSearch()
  const query = { orderBy: 'person', sort: 'asc', ...(q !== '' && { 'filter.person.name.contains': q }) }
  const pages = usePages<Member>(path, query)
  const lastLogins = useLastLogins(recordsOf(pages).map(({ id }) => id))
  const count = useQuery({
    queryKey: ['members', 'count'],
    queryFn: async () => (await send<{ count: number }>('GET', `${path}/count`)).body.count,
  })
  return (
    <>
      <SectionBar title={t('title')} note={count.data}>
        {may('invitation:create:write') && (
          <Button kind="primary" icon={MailPlus} onClick={() => goTo('invitations', { new: 'true' })}>
            {t('invite')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <ListPanel
          title={t('people')}
          label={t('title')}
          description={t('text')}
          path={path}
          query={query}
          pages={pages}
          empty={t('noMatch')}
          head={
            <SearchField
              label={t('search')}
              value={q}
              onSearch={(text) => goTo('members', text ? { q: text } : {}, { replace: true })}
            />
          }
        >
          {(member) => <MemberRow member={member} lastLogin={lastLogins?.[member.id]} />}
        </ListPanel>
      </PageContent>
    </>
  )
}

function MemberRow({ member, lastLogin }: { member: Member; lastLogin: string | null | undefined }) {
  const t = useTranslations('settings')
  const act = useAct()
  const may = useMay()
  const ownRole = useRole()
  const isSelf = useMe().id === member.id
  const { name, email } = member.person
  const roleName = useRoleName()
  // People with a custom role can only assign and remove custom roles.
  const isChangeable = ownRole === 'custom' ? member.role === 'custom' : ownRole === 'owner' || member.role !== 'owner'
  const canChange = may('member:update:write') && isChangeable
  const setRole = ({ value, label }: Option) =>
    void act(() => sendEdit({ ...editOf('members', member), values: { ...roleOfChoice(value) } }), {
      refresh: isSelf ? [] : ['members'],
      done: t('members.roleChanged', { name, role: label }),
    })
  return (
    <ListRow
      leading={<Avatar name={name} />}
      title={
        <span className={styles.name}>
          <span className="truncate">{name}</span>
          {isSelf && <Tag>{t('members.you')}</Tag>}
        </span>
      }
      text={
        <span className={styles.facts}>
          <span className="truncate">{email}</span>
          {/* Loaded after the list, which reserves the space. */}
          {may('audit-event:list:read') && (
            <span className={styles.lastFact}>
              {lastLogin === null && t('members.neverLoggedIn')}
              {lastLogin === undefined && '\u00a0'}
              {typeof lastLogin === 'string' && (
                <>
                  {t('members.lastLogin')} <Time value={lastLogin} />
                </>
              )}
            </span>
          )}
        </span>
      }
    >
      {canChange ? (
        <RoleMenu name={name} role={member} onChange={setRole} />
      ) : (
        <span className={styles.soft}>{roleName(member)}</span>
      )}
      {!isSelf && canChange && may('member:delete:write') && <MemberMenu member={member} />}
    </ListRow>
  )
}

function MemberMenu({ member }: { member: Member }) {
  const t = useTranslations('settings.members')
  const common = useTranslations('common')
  const act = useAct()
  const [isRemoving, setRemoving] = useState(false)
  const goTo = useGoTo()
  const may = useMay()
  const { name } = member.person
  const remove = () =>
    act(() => send('DELETE', `${path}/${member.id}`), {
      refresh: ['members'],
      done: t('removed', { name }),
    })
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsOf', { name })} />}>
        {may('audit-event:list:read') && (
          <MenuItem onSelect={() => goTo('audit-log', { 'filter.actorId.equals': member.id })}>
            {t('showEvents')}
          </MenuItem>
        )}
        <MenuItem isDanger onSelect={() => setRemoving(true)}>
          {t('remove')}
        </MenuItem>
      </Menu>
      <ConfirmDialog
        title={t('removeConfirm', { name })}
        description={t('removeText')}
        action={common('remove')}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={remove}
      />
    </>
  )
}
