import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { useResource, useSchema } from '../api/schema.ts'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { offerUndo } from '../ui/undo.ts'
import { nestedRecordsQuery } from '../views/nested-records.ts'
import { pipelinesChanged, type Stage } from './stages.ts'

interface DeleteStageProps {
  stage: Stage
  /** The path of the pipeline's stages. */
  path: string
  onClose(): void
}

/** Asks first; if the stage has deals, also asks where they go. */
export function DeleteStage({ stage, path, onClose }: DeleteStageProps) {
  const t = useTranslations('settings.pipelines')
  const common = useTranslations('common')
  const act = useAct()
  const [hasDeals, setHasDeals] = useState(false)
  const isAsking = useRef(false)
  const refresh = ['pipelines']
  const restore = () =>
    void act(() => send('POST', `${path}/${stage.id}/restore`), { refresh, done: common('undone') }).then(
      pipelinesChanged,
    )
  const deleted = () => {
    pipelinesChanged()
    offerUndo(t('stageDeleted', { name: stage.name }), restore)
    onClose()
  }
  const remove = (target?: string) => {
    const query = new URLSearchParams(target === undefined ? {} : { moveDealsTo: target })
    return change(refresh, () => send('DELETE', `${path}/${stage.id}`, { query }))
  }
  const removeEmpty = async () => {
    try {
      await remove()
    } catch (error) {
      if (error instanceof ApiError && error.status === 423) {
        isAsking.current = true
        return setHasDeals(true)
      }
      await act(() => Promise.reject(error), { refresh })
      return onClose()
    }
    deleted()
  }
  if (hasDeals)
    return <ChooseTarget stage={stage} onClose={onClose} onChosen={async (id) => (await remove(id), deleted())} />
  return (
    <ConfirmDialog
      title={t('deleteStageConfirm', { name: stage.name })}
      description={t('deleteStageText')}
      action={common('delete')}
      isOpen
      // Another dialog follows.
      onClose={() => isAsking.current || onClose()}
      onConfirm={removeEmpty}
    />
  )
}

interface ChooseTargetProps {
  stage: Stage
  onClose(): void
  onChosen(id: string): Promise<void>
}

function ChooseTarget({ stage, onClose, onChosen }: ChooseTargetProps) {
  const t = useTranslations('settings.pipelines')
  const { data } = useQuery(nestedRecordsQuery(useSchema(), useResource('stages')))
  const targets = (data ?? []).filter(({ record }) => record.id !== stage.id)
  // Stages of the same pipeline come first.
  const isOwn = ({ parent }: (typeof targets)[number]) => parent.id === stage.pipelineId
  const ordered = [...targets.filter(isOwn), ...targets.filter((target) => !isOwn(target))]
  return (
    <Dialog title={t('moveDealsTitle', { name: stage.name })} description={t('moveDealsText')} isOpen onClose={onClose}>
      <Form
        submitLabel={t('moveAndDelete')}
        submitKind="danger"
        onCancel={onClose}
        onSubmit={({ target = '' }) => onChosen(target)}
      >
        {(errorOf) => (
          <SelectField
            key={ordered.length}
            label={t('moveDealsTo')}
            name="target"
            error={errorOf('moveDealsTo')}
            options={ordered.map(({ record, parent, parentTitle }) => ({
              value: record.id,
              label: parent.id === stage.pipelineId ? String(record.name) : `${String(record.name)} · ${parentTitle}`,
            }))}
          />
        )}
      </Form>
    </Dialog>
  )
}
