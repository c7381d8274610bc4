import { Pencil } from 'lucide-react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type RecordData, type ResourceSchema, valueAt } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { returnFocus } from '../ui/focus.ts'
import { useIsNarrow } from '../ui/use-media.ts'
import { hasUnsaved } from './changes.ts'
import { archivedPropertiesOf, PropertyIcon, propertiesOf } from './columns.tsx'
import type { Move } from './editing.ts'
import { RecordValueEditor } from './record-value-editor.tsx'
import { useChangeTexts } from './use-grid-columns.tsx'
import { Value } from './value.tsx'
import { preloadEditors } from './value-editor.tsx'
import styles from './record.module.css'
import type { Property } from './property.ts'

interface PropertyListProps {
  resource: ResourceSchema
  record: RecordData
  canEdit: boolean
}

const isFilled = (record: RecordData) => (property: Property) => {
  const value = valueAt(record, property.name)
  return value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
}

/** Number of properties at first; their order, which is that of the list, puts the most important ones first. */
const firstCount = 8

/**
 * All properties of a record, each editable in place. Empty ones appear on request, system ones at the end. If notes
 * follow below, only the first properties appear without a request.
 */
export function PropertyList({ resource, record, canEdit }: PropertyListProps) {
  const t = useTranslations('record')
  const [isComplete, setComplete] = useState(false)
  useEffect(() => preloadEditors(propertiesOf(resource)), [resource])
  const all = propertiesOf(resource)
  const archived = archivedPropertiesOf(resource).filter(isFilled(record))
  // What follows from a group of fields stands after them, if there is any.
  const derived = resourceViews[resource.name]?.group?.shown
  const isSystem = ({ name, isReadOnly }: Property) => isReadOnly && name !== derived
  const isOwn = (property: Property) => !isSystem(property) && (property.name !== derived || isFilled(record)(property))
  const editable = [...all.filter(isOwn), ...archived]
  const system = all.filter(isSystem).filter(isFilled(record))
  const isShort = useIsNarrow() && !isComplete
  const isShown = (property: Property, index: number) =>
    isComplete || index < firstCount || (!isShort && isFilled(record)(property))
  const shown = editable.filter(isShown)
  const hiddenCount = editable.length - shown.length + (isShort ? system.length : 0)
  const render = (property: Property) => (
    <PropertyRow key={property.name} {...{ resource, record, property }} canEdit={canEdit && !property.isReadOnly} />
  )
  return (
    <>
      <dl className={styles.properties}>{shown.map(render)}</dl>
      {hiddenCount > 0 && (
        <Button kind="quiet" onClick={() => setComplete(true)}>
          {t('showMore', { count: hiddenCount })}
        </Button>
      )}
      {!isShort && <dl className={classes(styles.properties, styles.group)}>{system.map(render)}</dl>}
    </>
  )
}

interface PropertyRowProps extends PropertyListProps {
  property: Property
}

function PropertyRow({ resource, record, property, canEdit }: PropertyRowProps) {
  const t = useTranslations('record')
  const labelOf = usePropertyLabel()
  const textsOf = useChangeTexts()
  // Restores a value that was not saved before a reload or a log-in elsewhere.
  const [isEditing, setEditing] = useState(() => canEdit && hasUnsaved(property, record))
  const row = useRef<HTMLDivElement>(null)
  const moves = useRef<{ move: Move }>(undefined)
  const label = labelOf(property)
  const close = (move: Move) => {
    // Otherwise, a click elsewhere ended the editor, and the focus belongs there.
    if (row.current?.contains(document.activeElement)) moves.current = { move }
    else returnFocus(null, () => editButtonAt(row.current, undefined)?.focus())
    setEditing(false)
  }
  useLayoutEffect(() => {
    if (isEditing || !moves.current) return
    editButtonAt(row.current, moves.current.move)?.focus()
    moves.current = undefined
  }, [isEditing])
  return (
    <div ref={row} className={styles.property}>
      <dt className={styles.name}>
        <PropertyIcon property={property} />
        <span className="truncate">{label}</span>
      </dt>
      <dd className={classes(styles.value, canEdit && !isEditing && styles.editable, isEditing && styles.editing)}>
        {isEditing ? (
          <RecordValueEditor
            {...{ resource, record, property, label }}
            texts={textsOf(property)}
            onClose={(_value, move) => close(move)}
            onCancel={close}
          />
        ) : (
          <>
            <span className={styles.shown}>
              <Value resource={resource} property={property} record={record} />
            </span>
            {canEdit && (
              <span className={styles.edit}>
                <IconButton
                  data-edit
                  icon={Pencil}
                  label={t('editNamed', { name: label })}
                  onClick={() => setEditing(true)}
                />
              </span>
            )}
          </>
        )}
      </dd>
    </div>
  )
}

/** The edit button of this row or, after Tab, of the next or previous one. */
function editButtonAt(row: HTMLElement | null, move: Move): HTMLElement | null | undefined {
  const own = row?.querySelector<HTMLElement>('[data-edit]')
  const all = [...(row?.parentElement?.querySelectorAll<HTMLElement>('[data-edit]') ?? [])]
  const step = move === 'right' ? 1 : move === 'left' ? -1 : 0
  return (own && all[all.indexOf(own) + step]) ?? own
}
