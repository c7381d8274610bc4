import { ChevronRight, Plus, SquareKanban } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { type Schemas, send } from '../api/client.ts'
import { usePostOnce } from '../api/post-once.ts'
import { CheckField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ListRow, PageContent } from '../ui/page.tsx'
import { DialogButton } from './dialog-buttons.tsx'
import { DeletedPanel, ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { usePages } from './paged.tsx'
import { PartLink } from './part-page.tsx'
import { useMay } from '../api/permissions.ts'
import { PipelinePage } from './pipeline.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'
import { pipelinesChanged, usualStages } from './stages.ts'

type Pipeline = Schemas['Pipeline']

const path = '/v5/pipelines'
const query = { orderBy: 'createdAt', sort: 'asc' }

/** All pipelines; with `?pipeline=…`, one of them and its stages. */
export function Pipelines() {
  const { pipeline } = useSectionSearch()
  return pipeline !== undefined ? <PipelinePage key={pipeline} pipelineId={pipeline} /> : <PipelineList />
}

function PipelineList() {
  const t = useTranslations('settings.pipelines')
  const may = useMay()
  const pages = usePages<Pipeline>(path, query)
  return (
    <>
      <SectionBar title={t('title')}>
        {may('pipeline:create:write') && (
          <DialogButton kind="primary" icon={Plus} label={t('create')} title={t('createTitle')}>
            {(close) => <NewPipeline onClose={close} />}
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
          {({ id, name }) => (
            <ListRow
              leading={<SquareKanban size={16} strokeWidth={1.75} className={styles.faint} aria-hidden />}
              title={<PartLink section="pipelines" search={{ pipeline: id }} name={name} />}
            >
              <ChevronRight size={16} className={styles.faint} aria-hidden />
            </ListRow>
          )}
        </ListPanel>
        {/* Not before the list above it, whose pipelines would push it down. */}
        {!pages.isPending && <DeletedPipelines />}
      </PageContent>
    </>
  )
}

function DeletedPipelines() {
  const t = useTranslations('settings.pipelines')
  const act = useAct()
  const may = useMay()
  const pages = usePages<Pipeline>(path, { ...query, deleted: 'true' })
  if (!may('pipeline:restore:write')) return undefined
  const restore = async ({ id, name }: Pipeline) => {
    await act(() => send('POST', `${path}/${id}/restore`), { refresh: ['pipelines'], done: t('restored', { name }) })
    pipelinesChanged()
  }
  return (
    <DeletedPanel
      title={t('deletedTitle')}
      description={t('deletedText')}
      pages={pages}
      titleOf={({ name }) => name}
      onRestore={restore}
    />
  )
}

/** Creates a pipeline with the usual stages, unless the person chooses to start without any. */
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
