import { RotateCcw, Tag, Trash2, X } from 'lucide-react'
import { type SubmitEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { Button, IconButton } from '../ui/button.tsx'
import type { GridSelection } from '../ui/data-grid/grid-model.ts'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Popover } from '../ui/popover.tsx'
import { addTag, deleteRecords, restoreRecords, useBulkReport } from './bulk.ts'
import styles from './list.module.css'

interface BulkBarProps {
  resource: ResourceSchema
  selection: GridSelection
  isDeleted: boolean
  /** Called with the records to deselect. */
  onDone(ids: ReadonlySet<string>): void
}

/** Actions on the selected records: exactly those, all of them loaded. */
export function BulkBar({ resource, selection, isDeleted, onDone }: BulkBarProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const nounOf = useNoun()
  const report = useBulkReport(resource)
  const [isConfirming, setConfirming] = useState(false)
  const [progress, setProgress] = useState<number>()
  const ids = [...selection.ids]
  const count = ids.length
  const name = nounOf(count === 1 ? resource.singularLabel : resource.label)
  const hasTags = resource.fields.some((field) => field.name === 'tags' && !field.readOnly)
  const run = async (work: () => Promise<void>) => {
    setProgress(0)
    try {
      await work()
    } finally {
      setProgress(undefined)
      onDone(new Set(ids))
    }
  }
  return (
    <div className={styles.bulk} role="region" aria-label={t('bulkActions')}>
      <span role="status">
        {progress === undefined ? t('selected', { count }) : t('progress', { done: progress, count })}
      </span>
      {!isDeleted && hasTags && resource.permissions.update && (
        <TagPopover
          isBusy={progress !== undefined}
          onTag={(tag) => void run(async () => report.tagged(tag, await addTag(resource, ids, tag, setProgress)))}
        />
      )}
      {isDeleted ? (
        <Button
          icon={RotateCcw}
          isBusy={progress !== undefined}
          onClick={() => void run(async () => report.restored(await restoreRecords(resource, ids, setProgress)))}
        >
          {common('restore')}
        </Button>
      ) : (
        resource.permissions.delete && (
          <Button icon={Trash2} isBusy={progress !== undefined} onClick={() => setConfirming(true)}>
            {common('delete')}
          </Button>
        )
      )}
      <IconButton icon={X} label={t('clearSelection')} onClick={() => onDone(selection.ids)} />
      <ConfirmDialog
        title={t('deleteTitle', { count, name })}
        description={
          resource.restorableDays === null
            ? common('deleteForever')
            : t('deleteText', { days: resource.restorableDays })
        }
        action={common('delete')}
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => run(async () => report.deleted(await deleteRecords(resource, ids, setProgress)))}
      />
    </div>
  )
}

function TagPopover({ isBusy, onTag }: { isBusy: boolean; onTag(tag: string): void }) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const [isOpen, setOpen] = useState(false)
  const [tag, setTag] = useState('')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (tag.trim() === '') return
    setOpen(false)
    onTag(tag.trim())
  }
  return (
    <Popover
      label={t('addTag')}
      isOpen={isOpen}
      onOpenChange={setOpen}
      trigger={
        <Button icon={Tag} isBusy={isBusy}>
          {t('addTag')}
        </Button>
      }
    >
      <form className={styles.filterForm} onSubmit={submit}>
        <TextField label={t('tag')} value={tag} maxLength={100} onChange={(event) => setTag(event.target.value)} />
        <Button type="submit" kind="primary">
          {common('add')}
        </Button>
      </form>
    </Popover>
  )
}
