import { ChevronRight, Plus } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { ListRow, PageContent } from '../ui/page.tsx'
import { Avatar, Tag } from '../ui/tag.tsx'
import { DialogButton } from './dialog-buttons.tsx'
import { ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { usePages } from './paged.tsx'
import { PartLink } from './part-page.tsx'
import { useMay } from '../api/permissions.ts'
import type { Team } from './records.ts'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'
import { TeamForm } from './team-form.tsx'
import { TeamPage } from './team.tsx'

const path = '/v5/teams'
const query = { orderBy: 'name', sort: 'asc' }

/** All teams; with `?team=…`, one of them and its members. */
export function Teams() {
  const { team } = useSectionSearch()
  return team !== undefined ? <TeamPage key={team} teamId={team} /> : <TeamList />
}

function TeamList() {
  const t = useTranslations('settings.teams')
  const may = useMay()
  const goTo = useGoTo()
  const pages = usePages<Team>(path, query)
  return (
    <>
      <SectionBar title={t('title')}>
        {may('team:create:write') && (
          <DialogButton kind="primary" icon={Plus} label={t('create')} title={t('createTitle')}>
            {(close) => <TeamForm onCancel={close} onDone={({ id }) => goTo('teams', { team: id })} />}
          </DialogButton>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <ListPanel
          title={t('all')}
          label={t('title')}
          description={t('text')}
          path={path}
          query={query}
          pages={pages}
          empty={t('empty')}
        >
          {(team) => <TeamRow team={team} />}
        </ListPanel>
      </PageContent>
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
          <PartLink section="teams" search={{ team: id }} name={name} />
          {isDefault && <Tag>{t('default')}</Tag>}
        </span>
      }
    >
      <ChevronRight size={16} className={styles.faint} aria-hidden />
    </ListRow>
  )
}
