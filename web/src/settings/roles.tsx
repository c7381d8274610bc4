import { useQuery } from '@tanstack/react-query'
import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { Loading } from '../ui/states.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { DeleteRole } from './delete-role.tsx'
import { ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { usePages } from './paged.tsx'
import { PartLink } from './part-page.tsx'
import { useMay } from '../api/permissions.ts'
import { useReachSummary } from './reach-fields.tsx'
import type { CustomRole } from './records.ts'
import { RolePage } from './role-form.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

/** The organization's roles; `?new=true` creates one, `?role=…` changes one. */
export function Roles() {
  const goTo = useGoTo()
  const { new: isNew, role } = useSectionSearch()
  if (isNew === 'true' || role !== undefined) return <RolePage key={role} roleId={role} onClose={() => goTo('roles')} />
  return <RoleList />
}

const path = '/v5/roles'
const query = { orderBy: 'name', sort: 'asc' }

function RoleList() {
  const t = useTranslations('settings.customRoles')
  const may = useMay()
  const goTo = useGoTo()
  const pages = usePages<CustomRole>(path, query)
  return (
    <>
      <SectionBar title={t('title')}>
        {may('role:create:write') && (
          <Button kind="primary" icon={Plus} onClick={() => goTo('roles', { new: 'true' })}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <ListPanel title={t('own')} description={t('text')} path={path} query={query} pages={pages} empty={t('empty')}>
          {(role) => <RoleRow role={role} />}
        </ListPanel>
        <BuiltInRoles />
      </PageContent>
    </>
  )
}

function RoleRow({ role }: { role: CustomRole }) {
  const t = useTranslations('settings.customRoles')
  const may = useMay()
  const summaryOf = useReachSummary()
  const [isDeleting, setDeleting] = useState(false)
  const { id, name, description, scopes, reach } = role
  return (
    <ListRow
      title={
        may('role:update:write') ? (
          <PartLink section="roles" search={{ role: id }} name={name} />
        ) : (
          <span className={styles.name}>{name}</span>
        )
      }
      text={
        <span className={styles.facts}>
          {description !== null && <span>{description}</span>}
          <span>{summaryOf(reach)}</span>
          <span>{t('scopeCount', { count: scopes.length })}</span>
        </span>
      }
    >
      {may('role:delete:write') && (
        <IconButton icon={Trash2} label={t('deleteNamed', { name })} onClick={() => setDeleting(true)} />
      )}
      {isDeleting && <DeleteRole role={role} onClose={() => setDeleting(false)} />}
    </ListRow>
  )
}

/** The built-in roles. */
function BuiltInRoles() {
  const t = useTranslations('settings')
  const summaryOf = useReachSummary()
  const { data, error, refetch } = useQuery({
    queryKey: ['roles', 'built-in'],
    queryFn: async () => (await send<Schemas['BuiltInRoles']>('GET', `${path}/built-in`)).body,
  })
  return (
    <Panel title={t('customRoles.builtIn')} description={t('customRoles.builtInText')}>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && (
        <List label={t('customRoles.builtIn')}>
          {data.map(({ role, reach }) => (
            <ListRow
              key={role}
              title={<span className={styles.name}>{t(`roles.${role}`)}</span>}
              text={
                <span className={styles.facts}>
                  <span>{t(`customRoles.about.${role}`)}</span>
                  <span>{summaryOf(reach)}</span>
                </span>
              }
            />
          ))}
        </List>
      )}
    </Panel>
  )
}
