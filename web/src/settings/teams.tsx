import { Link } from '@tanstack/react-router'
import { ChevronRight, Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { CopyRequest } from '../ui/copy-request.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { Avatar, Tag } from '../ui/tag.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { Paged, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { Team } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'
import { TeamForm } from './team-form.tsx'
import { TeamPage } from './team.tsx'

const path = '/v5/teams'
const query = { orderBy: 'name', sort: 'asc' }

/** All teams; with `?team=…` one of them and its members. */
export function Teams() {
  const { team } = useSectionSearch()
  return team !== undefined ? <TeamPage key={team} teamId={team} /> : <TeamList />
}

function TeamList() {
  const t = useTranslations('settings.teams')
  const may = useMay()
  const goTo = useGoTo()
  const [isCreating, setCreating] = useState(false)
  const pages = usePages<Team>(path, query)
  return (
    <>
      <SectionBar title={t('title')}>
        {may('team:create:write') && (
          <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <Panel title={t('all')} description={t('text')} actions={<CopyRequest path={path} query={query} />}>
          <Paged pages={pages} empty={t('empty')}>
            {(teams) => (
              <List label={t('title')}>
                {teams.map((team) => (
                  <TeamRow key={team.id} team={team} />
                ))}
              </List>
            )}
          </Paged>
        </Panel>
      </PageContent>
      <Dialog title={t('createTitle')} isOpen={isCreating} onClose={() => setCreating(false)}>
        <TeamForm onCancel={() => setCreating(false)} onDone={({ id }) => goTo('teams', { team: id })} />
      </Dialog>
    </>
  )
}

function TeamRow({ team: { id, name, isDefault } }: { team: Team }) {
  const t = useTranslations('settings.teams')
  return (
    <ListRow
      leading={<Avatar name={name} isSquare />}
      title={
        <span className={styles.name}>
          <Link
            to="/settings/$section"
            params={{ section: 'teams' }}
            search={{ team: id }}
            className={`${styles.nameLink} truncate`}
          >
            {name}
          </Link>
          {isDefault && <Tag>{t('default')}</Tag>}
        </span>
      }
    >
      <ChevronRight size={16} className={styles.faint} aria-hidden />
    </ListRow>
  )
}
