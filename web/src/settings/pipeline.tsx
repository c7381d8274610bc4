import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { type Schemas, send } from '../api/client.ts'
import { editOf, sendEdit, whenStored } from '../api/edit.ts'
import { ignoreAnswers, queryClient } from '../api/query-client.ts'
import { useSeen } from '../api/use-seen.ts'
import { CopyRequest } from '../ui/copy-request.tsx'
import { IconButton } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Panel } from '../ui/page.tsx'
import { SortableList } from '../ui/sortable-list.tsx'
import { Tag, tintOfState } from '../ui/tag.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { DeleteStage } from './delete-stage.tsx'
import { ConfirmButton, DialogButton } from './dialog-buttons.tsx'
import { followsSection } from './paged.tsx'
import { PartPage } from './part-page.tsx'
import { useMay } from '../api/permissions.ts'
import styles from './settings.module.css'
import { StageForm } from './stage-form.tsx'
import { pipelinesChanged, type Stage } from './stages.ts'

type Pipeline = Schemas['Pipeline']

/** A pipeline: its name and its stages in order. */
export function PipelinePage({ pipelineId }: { pipelineId: string }) {
  const t = useTranslations('settings.pipelines')
  return (
    <PartPage<Pipeline>
      section="pipelines"
      id={pipelineId}
      title={t('title')}
      listTitle={t('all')}
      actions={(pipeline) => <PipelineActions pipeline={pipeline} />}
    >
      {() => <Stages pipelineId={pipelineId} />}
    </PartPage>
  )
}

function PipelineActions({ pipeline }: { pipeline: Pipeline }) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const act = useAct()
  const navigate = useNavigate()
  const may = useMay()
  const path = `/v5/pipelines/${pipeline.id}`
  const options = { refresh: ['pipelines'] }
  const restore = () =>
    void act(() => send('POST', `${path}/restore`), { ...options, done: common('undone') }).then(pipelinesChanged)
  const remove = async () => {
    await act(
      async () => {
        await send('DELETE', path)
        // Only after the page is left: it would fetch the deleted pipeline.
        await navigate({ to: '/settings/$section', params: { section: 'pipelines' }, search: {} })
      },
      { ...options, done: t('deleted', { name: pipeline.name }), undo: restore },
    )
    pipelinesChanged()
  }
  return (
    <>
      {may('pipeline:update:write') && (
        <DialogButton icon={Pencil} label={t('rename')} title={t('renameTitle', { name: pipeline.name })}>
          {(close) => <RenameForm pipeline={pipeline} onClose={close} />}
        </DialogButton>
      )}
      {may('pipeline:delete:write') && (
        <ConfirmButton
          icon={Trash2}
          label={common('delete')}
          title={t('deleteConfirm', { name: pipeline.name })}
          description={t('deleteText')}
          onConfirm={remove}
        />
      )}
    </>
  )
}

function RenameForm({ pipeline, onClose }: { pipeline: Pipeline; onClose(): void }) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const seen = useSeen(pipeline)
  return (
    <Form
      draft={`pipeline ${pipeline.id}`}
      submitLabel={common('save')}
      onCancel={onClose}
      onSubmit={async ({ name = '' }) => {
        await change(['pipelines'], () => sendEdit({ ...editOf('pipelines', seen), values: { name } }))
        pipelinesChanged()
        onClose()
      }}
    >
      {(errorOf) => (
        <TextField
          label={t('name')}
          name="name"
          defaultValue={pipeline.name}
          error={errorOf('name')}
          autoComplete="off"
        />
      )}
    </Form>
  )
}

const order = { orderBy: 'position', sort: 'asc' }

function Stages({ pipelineId }: { pipelineId: string }) {
  const t = useTranslations('settings.pipelines')
  const may = useMay()
  const act = useAct()
  const path = `/v5/pipelines/${pipelineId}/stages`
  const key = ['pipelines', pipelineId, 'stages']
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async () => {
      const query = new URLSearchParams({ ...order, limit: '100' })
      return (await send<Stage[]>('GET', path, { query })).body
    },
    meta: { ...followsSection('pipelines'), waits: true },
  })
  const move = async (id: string, index: number) => {
    const stages = data ?? []
    const moved = stages.filter((stage) => stage.id === id)
    // Show the new order at once; the service's response replaces it.
    const others = stages.filter((stage) => stage.id !== id)
    ignoreAnswers(key)
    queryClient.setQueryData(key, others.toSpliced(index, 0, ...moved))
    const [seen] = moved
    if (!seen) return
    const edit = { path: `${path}/${id}`, resource: 'stages', seen, values: { position: index }, isMove: true }
    await act(() => sendEdit(edit).finally(whenStored), { refresh: key })
    pipelinesChanged()
  }
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  return (
    <Panel
      title={t('stages')}
      description={t('stagesText')}
      actions={
        <>
          <CopyRequest path={path} query={order} />
          {may('stage:create:write') && (
            <DialogButton icon={Plus} label={t('addStage')} title={t('addStage')}>
              {(close) => <StageForm path={path} onDone={close} />}
            </DialogButton>
          )}
        </>
      }
    >
      {data?.length === 0 && <div className={styles.empty}>{t('noStages')}</div>}
      <SortableList
        label={t('stages')}
        items={data ?? []}
        titleOf={({ name }) => name}
        onMove={may('stage:update:write') ? (id, index) => void move(id, index) : undefined}
      >
        {(stage) => <StageRow stage={stage} path={path} />}
      </SortableList>
    </Panel>
  )
}

function StageRow({ stage, path }: { stage: Stage; path: string }) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const choiceLabel = useChoiceLabel()
  const may = useMay()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const close = () => setOpen(undefined)
  const { name, kind, probability, rottingDays } = stage
  const facts = [
    kind === 'open' && t('probabilityFact', { percent: probability }),
    kind === 'open' && (rottingDays === null ? t('neverRots') : t('rotsAfter', { days: rottingDays })),
  ]
  return (
    <>
      <div className={styles.stageText}>
        <div className={styles.name}>
          <span className="truncate">{name}</span>
          <Tag tint={tintOfState(kind, kind)} hasDot>
            {choiceLabel(kind)}
          </Tag>
        </div>
        <div className={styles.soft}>{facts.filter(Boolean).join(' · ')}</div>
      </div>
      {may('stage:update:write') && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsFor', { name })} />}>
          <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
            {common('edit')}
          </MenuItem>
          {may('stage:delete:write') && (
            <MenuItem icon={Trash2} isDanger onSelect={() => setOpen('delete')}>
              {common('delete')}
            </MenuItem>
          )}
        </Menu>
      )}
      <Dialog title={t('editStage', { name })} isOpen={open === 'edit'} onClose={close}>
        <StageForm stage={stage} path={path} onDone={close} />
      </Dialog>
      {open === 'delete' && <DeleteStage stage={stage} path={path} onClose={close} />}
    </>
  )
}
