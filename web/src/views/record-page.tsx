import { type AsyncRouteComponent, useNavigate, useParams, useRouter } from '@tanstack/react-router'
import { ArrowLeft, Ellipsis, Eraser, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useTrouble } from '../api/connection.ts'
import { ApiError } from '../api/error.ts'
import { useMe } from '../api/me.ts'
import { covers, type Scope } from '../api/permissions.ts'
import { type RecordData, type ResourceSchema, titleOf, useResource, valueAt } from '../api/schema.ts'
import { useOpenRecord } from '../live/places.ts'
import { useLabel } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import { unsavedKinds } from '../preferences/drafts.ts'
import { Loading, NotFound } from '../ui/states.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { CopyRequestItem } from '../ui/copy-request.tsx'
import { useUndoShortcut } from '../ui/undo.ts'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { PageBar } from '../ui/page.tsx'
import { Avatar } from '../ui/tag.tsx'
import { deleteRecords, restoreRecords, useBulkReport } from './bulk.ts'
import { PeopleHere } from './people-here.tsx'
import { RecordLayout } from './record-layout.tsx'
import { PropertyList } from './property-list.tsx'
import { useRecord } from './use-record.ts'
import styles from './record.module.css'

/** A part of a record's page that does not follow from the description of the resource. */
export interface RecordSection {
  /** Key of its title in the messages of records. */
  title: 'addresses' | 'employments' | 'people' | 'deals' | 'stage' | 'contacts' | 'tasks' | 'text' | 'timeline'
  /** Below the properties, where there are two columns. */
  isAside?: boolean
  /** Loaded with the first page that shows it. */
  content: AsyncRouteComponent<{ record: RecordData }>
}

/** What record pages show besides what follows from the description of a resource; by resource. */
export interface RecordParts {
  /** In their order. */
  sections: Readonly<Record<string, readonly RecordSection[]>>
  /** Buttons in the bar. */
  actions: Readonly<Record<string, RecordSection['content']>>
  /** How records are erased that are about people. */
  erasures: Readonly<Record<string, RecordErasure>>
}

export interface RecordErasure {
  scope: Pick<Scope, 'resource' | 'action' | 'permission' | 'guarded'>
  /** Loaded when it is opened. */
  dialog: AsyncRouteComponent<EraseDialogProps>
}

export interface EraseDialogProps {
  record: RecordData
  title: string
  onClose(): void
  onErased(): void
}

/** The page of any record: its properties, and its parts. */
export function RecordPage(parts: RecordParts) {
  const { resource: name, recordId } = useParams({ strict: false })
  const resource = useResource(name ?? '')
  if (!resource || !resourceViews[resource.name] || recordId === undefined) return <NotFound />
  return <Loaded key={recordId} resource={resource} id={recordId} {...parts} />
}

interface LoadedProps extends RecordParts {
  resource: ResourceSchema
  id: string
}

function Loaded({ resource, id, ...parts }: LoadedProps) {
  const { data, error, refetch } = useRecord(resource, id)
  const isDeleted = useIsLeft(error instanceof ApiError && error.status === 404)
  if (data && !isDeleted) return <RecordContent resource={resource} record={data} {...parts} />
  if (error instanceof ApiError && error.status === 404)
    return resource.restorableDays === null ? (
      <NotFound />
    ) : (
      <Deleted resource={resource} id={id} days={resource.restorableDays} onRestored={() => void refetch()} />
    )
  if (!error) return <Waiting />
  return (
    <>
      <PageBar title={resource.singularLabel} />
      <Failure error={error} onRetry={() => void refetch()} />
    </>
  )
}

/** Somebody else has deleted the record. Its page stays while the person is typing, so that nothing is lost. */
function useIsLeft(isGone: boolean): boolean {
  const [seen, setSeen] = useState({ isGone, isLeft: isGone })
  if (seen.isGone !== isGone) setSeen({ isGone, isLeft: isGone && !isTyping() })
  return seen.isLeft
}

const isTyping = (): boolean =>
  unsavedKinds().length > 0 || document.activeElement?.matches('input, textarea, select') === true

/** Shown while the record is loading, or while the service is unreachable. */
const Waiting = () => (useTrouble() === undefined ? <PageBar title="…" /> : <Loading />)

interface DeletedProps {
  resource: ResourceSchema
  id: string
  /** For how long records can be restored. */
  days: number
  onRestored(): void
}

/** Shown if the record was deleted or never existed. */
function Deleted({ resource, id, days, onRestored }: DeletedProps) {
  const t = useTranslations('record')
  const common = useTranslations('common')
  const report = useBulkReport(resource)
  const restore = async () => {
    const result = await restoreRecords(resource, [id])
    report.restored(result)
    if (result.ids.length > 0) onRestored()
  }
  return (
    <>
      <PageBar title={common('notFound')} />
      <EmptyState icon={Trash2} title={t('missing')} text={t('missingText', { days })}>
        {resource.permissions.restore && (
          <Button icon={RotateCcw} onClick={() => void restore()}>
            {common('restore')}
          </Button>
        )}
      </EmptyState>
    </>
  )
}

interface RecordContentProps extends RecordParts {
  resource: ResourceSchema
  record: RecordData
}

function RecordContent({ resource, record, sections, actions, erasures }: RecordContentProps) {
  const t = useTranslations('record')
  const common = useTranslations('common')
  const labelOf = useLabel()
  const navigate = useNavigate()
  const router = useRouter()
  const report = useBulkReport(resource)
  const [isDeleting, setDeleting] = useState(false)
  const [isErasing, setErasing] = useState(false)
  useUndoShortcut()
  useOpenRecord(record.id)
  const title = titleOf(resource, record)
  const view = resourceViews[resource.name]
  const Actions = actions[resource.name]
  const erasure = erasures[resource.name]
  const toList = () => void navigate({ to: '/$resource', params: { resource: resource.name } })
  const remove = async () => {
    const result = await deleteRecords(resource, [record.id], () => undefined)
    report.deleted(result)
    if (result.ids.length === 0) return
    toList()
  }
  const back = () => (router.history.canGoBack() ? router.history.back() : toList())
  return (
    <>
      <PageBar title={title} leading={<IconButton icon={ArrowLeft} label={common('back')} onClick={back} />}>
        {/* Screen readers announce who comes. */}
        <span role="status" className={styles.people}>
          <PeopleHere recordId={record.id} />
        </span>
        {Actions && <Actions record={record} />}
        <Menu trigger={<IconButton icon={Ellipsis} label={common('more')} />}>
          <CopyRequestItem path={`${resource.path}/${record.id}`} />
          {resource.permissions.delete && (
            <MenuItem icon={Trash2} isDanger onSelect={() => setDeleting(true)}>
              {common('delete')}
            </MenuItem>
          )}
          {erasure && <EraseItem erasure={erasure} onOpen={() => setErasing(true)} />}
        </Menu>
      </PageBar>
      <RecordLayout
        head={
          <>
            <Avatar name={title} isLarge isSquare={!view?.isPerson} />
            <div className={styles.headText}>
              <h2>{title}</h2>
              <p className={styles.soft}>{subtitleOf(resource, record) ?? labelOf(resource.singularLabel)}</p>
            </div>
          </>
        }
        properties={<PropertyList resource={resource} record={record} canEdit={resource.permissions.update} />}
        sections={(sections[resource.name] ?? []).map((section) => ({
          isAside: section.isAside === true,
          content: <Section key={section.title} section={section} record={record} />,
        }))}
      />
      <ConfirmDialog
        title={t('deleteTitle', { title })}
        description={
          resource.restorableDays === null
            ? common('deleteForever')
            : t('deleteText', { days: resource.restorableDays })
        }
        action={common('delete')}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        onConfirm={remove}
      />
      {erasure && isErasing && (
        <erasure.dialog record={record} title={title} onClose={() => setErasing(false)} onErased={toList} />
      )}
    </>
  )
}

function EraseItem({ erasure, onOpen }: { erasure: RecordErasure; onOpen(): void }) {
  const t = useTranslations('erasing')
  if (!covers(useMe().credential.scopes, erasure.scope)) return null
  const open = async () => {
    await erasure.dialog.preload?.()
    onOpen()
  }
  return (
    <MenuItem icon={Eraser} isDanger onSelect={() => void open()}>
      {t('menu')}
    </MenuItem>
  )
}

/** What says most about a person or company in a line: `Engineer · Analytical Engines`. */
function subtitleOf({ subtitleFields }: ResourceSchema, record: RecordData): string | undefined {
  const parts = subtitleFields.map((path) => valueAt(record, path))
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' · ') || undefined
}

function Section({ section, record }: { section: RecordSection; record: RecordData }) {
  const t = useTranslations('record')
  const { content: Content } = section
  return (
    <section className={styles.section} aria-label={t(section.title)}>
      <h3>{t(section.title)}</h3>
      <Content record={record} />
    </section>
  )
}
