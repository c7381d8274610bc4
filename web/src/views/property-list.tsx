import { Pencil } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type RecordData, type ResourceSchema, valueAt } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { changeableValue, changeProperty, isSame, recordChanged } from './changes.ts'
import { type Property, PropertyIcon, propertiesOf } from './columns.tsx'
import { useChangeTexts } from './use-grid-columns.tsx'
import { Value } from './value.tsx'
import { ValueEditor } from './value-editor.tsx'
import styles from './record.module.css'

interface PropertyListProps {
  resource: ResourceSchema
  record: RecordData
  canEdit: boolean
}

const isFilled = (record: RecordData) => (property: Property) => {
  const value = valueAt(record, property.name)
  return value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
}

/** Every property of a record, each editable in place. Empty ones appear on request, system ones at the end. */
export function PropertyList({ resource, record, canEdit }: PropertyListProps) {
  const t = useTranslations('record')
  const [isComplete, setComplete] = useState(false)
  const all = propertiesOf(resource)
  const editable = all.filter(({ isReadOnly }) => !isReadOnly)
  const shown = isComplete ? editable : editable.filter((property, index) => index < 8 || isFilled(record)(property))
  const system = all.filter(({ isReadOnly }) => isReadOnly).filter(isFilled(record))
  const render = (property: Property) => (
    <PropertyRow key={property.name} {...{ resource, record, property }} canEdit={canEdit && !property.isReadOnly} />
  )
  return (
    <>
      <dl className={styles.properties}>{shown.map(render)}</dl>
      {shown.length < editable.length && (
        <Button kind="quiet" onClick={() => setComplete(true)}>
          {t('showEmpty', { count: editable.length - shown.length })}
        </Button>
      )}
      <dl className={classes(styles.properties, styles.group)}>{system.map(render)}</dl>
    </>
  )
}

interface PropertyRowProps extends PropertyListProps {
  property: Property
}

function PropertyRow({ resource, record, property, canEdit }: PropertyRowProps) {
  const t = useTranslations('record')
  const labelOf = useLabel()
  const textsOf = useChangeTexts()
  const [isEditing, setEditing] = useState(false)
  const editButton = useRef<HTMLButtonElement>(null)
  const label = labelOf(property.label)
  const close = () => {
    setEditing(false)
    // The button appears again with the next frame.
    requestAnimationFrame(() => editButton.current?.focus())
  }
  return (
    <div className={styles.property}>
      <dt className={styles.name}>
        <PropertyIcon property={property} />
        <span className="truncate">{label}</span>
      </dt>
      <dd className={classes(styles.value, canEdit && !isEditing && styles.editable, isEditing && styles.editing)}>
        {isEditing ? (
          <ValueEditor
            property={{ ...property, label }}
            value={changeableValue(property, record)}
            onCancel={close}
            onCommit={(value, _move, shown) => {
              close()
              if (isSame(value, changeableValue(property, record))) return
              const show = (changed: RecordData) => recordChanged(resource, changed)
              void changeProperty(resource, record, { property, value, shown }, show, textsOf(property))
            }}
          />
        ) : (
          <>
            <span className={styles.shown}>
              <Value resource={resource} property={property} record={record} />
            </span>
            {canEdit && (
              <span className={styles.edit}>
                <IconButton
                  ref={editButton}
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
