import { Link } from '@tanstack/react-router'
import { ChevronRight, Plus, RotateCcw, SquareKanban } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { type Schemas, send } from '../api/client.ts'
import { usePostOnce } from '../api/post-once.ts'
import { CopyRequest } from '../ui/copy-request.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { CheckField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { Paged, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import { PipelinePage } from './pipeline.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'
import { pipelinesChanged, usualStages } from './stages.ts'

type Pipeline = Schemas['Pipeline']

const path = '/v5/pipelines'
const query = { orderBy: 'createdAt', sort: 'asc' }

/** All pipelines; with `?pipeline=…` one of them and its stages. */
export function Pipelines() {
  const { pipeline } = useSectionSearch()
  return pipeline !== undefined ? <PipelinePage key={pipeline} pipelineId={pipeline} /> : <PipelineList />
}

function PipelineList() {
  const t = useTranslations('settings.pipelines')
  const may = useMay()
  const [isCreating, setCreating] = useState(false)
  const pages = usePages<Pipeline>(path, query)
  return (
    <>
      <SectionBar title={t('title')}>
        {may('pipeline:create:write') && (
          <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <Panel title={t('all')} description={t('text')} actions={<CopyRequest path={path} query={query} />}>
          <Paged pages={pages} empty={t('empty')}>
            {(pipelines) => (
              <List label={t('title')}>
                {pipelines.map(({ id, name }) => (
                  <ListRow
                    key={id}
                    leading={<SquareKanban size={16} strokeWidth={1.75} className={styles.faint} aria-hidden />}
                    title={
                      <Link
                        to="/settings/$section"
                        params={{ section: 'pipelines' }}
                        search={{ pipeline: id }}
                        className={`${styles.nameLink} truncate`}
                      >
                        {name}
                      </Link>
                    }
                  >
                    <ChevronRight size={16} className={styles.faint} aria-hidden />
                  </ListRow>
                ))}
              </List>
            )}
          </Paged>
        </Panel>
        {/* Not before the list above it, whose pipelines would push it down. */}
        {!pages.isPending && <DeletedPipelines />}
      </PageContent>
      <Dialog title={t('createTitle')} isOpen={isCreating} onClose={() => setCreating(false)}>
        <NewPipeline onClose={() => setCreating(false)} />
      </Dialog>
    </>
  )
}

/** Nothing at all if none was deleted. */
function DeletedPipelines() {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const act = useAct()
  const may = useMay()
  const pages = usePages<Pipeline>(path, { ...query, deleted: 'true' })
  const deleted = pages.data?.pages.flatMap(({ records }) => records) ?? []
  if (deleted.length === 0 || !may('pipeline:restore:write')) return undefined
  const restore = async ({ id, name }: Pipeline) => {
    await act(() => send('POST', `${path}/${id}/restore`), { refresh: ['pipelines'], done: t('restored', { name }) })
    pipelinesChanged()
  }
  return (
    <Panel title={t('deletedTitle')} description={t('deletedText')}>
      <List label={t('deletedTitle')}>
        {deleted.map((pipeline) => (
          <ListRow key={pipeline.id} title={pipeline.name}>
            <Button icon={RotateCcw} onClick={() => void restore(pipeline)}>
              {common('restore')}
            </Button>
          </ListRow>
        ))}
      </List>
    </Panel>
  )
}

/** The usual stages are added with it, unless the person wants to begin with none. */
function NewPipeline({ onClose }: { onClose(): void }) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const goTo = useGoTo()
  const post = usePostOnce()
  const [hasStages, setHasStages] = useState(true)
  return (
    <Form
      draft="new pipeline"
      submitLabel={common('create')}
      onCancel={onClose}
      onSubmit={async ({ name = '' }) => {
        await change(['pipelines'], async () => {
          const { body: pipeline } = await post<Pipeline>(path, { name })
          for (const { key, ...stage } of hasStages ? usualStages : [])
            await send('POST', `${path}/${pipeline.id}/stages`, { body: { ...stage, name: t(`usual.${key}`) } })
          goTo('pipelines', { pipeline: pipeline.id })
        })
        pipelinesChanged()
      }}
    >
      {(errorOf) => (
        <>
          <TextField label={t('name')} name="name" error={errorOf('name')} maxLength={100} autoComplete="off" />
          <CheckField
            label={t('addUsual')}
            hint={usualStages.map(({ key }) => t(`usual.${key}`)).join(', ')}
            checked={hasStages}
            onChange={(event) => setHasStages(event.target.checked)}
          />
        </>
      )}
    </Form>
  )
}
