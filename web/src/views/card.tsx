import { Link } from '@tanstack/react-router'
import { UserRound } from 'lucide-react'
import { type RecordData, type ResourceSchema, titleOf, valueAt } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { resourceViews } from '../registry/resources.ts'
import type { GridColumn } from '../ui/data-grid/grid-model.ts'
import { Avatar, Tag, tintOf } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { useChoiceLabel } from './choices.ts'
import { propertyOf } from './columns.tsx'
import { cardFields } from './list-state.ts'
import { PeopleHere } from './people-here.tsx'
import { Toggle } from './toggle.tsx'
import { useChangeTexts } from './use-grid-columns.tsx'
import styles from './card.module.css'

/** On phones, a record is a card of two lines instead of a row of cells. */
export const cardColumns = (resource: ResourceSchema): GridColumn<RecordData>[] => [
  {
    name: resource.titleField,
    title: resource.singularLabel,
    icon: UserRound,
    width: 320,
    isPinned: false,
    orderBy: undefined,
    render: (record) => <Card resource={resource} record={record} />,
  },
]

function Card({ resource, record }: { resource: ResourceSchema; record: RecordData }) {
  const choiceLabel = useChoiceLabel()
  const labelOf = useLabel()
  const textsOf = useChangeTexts()
  const title = titleOf(resource, record)
  const about = cardFields(resource)
    .map((path) => valueAt(record, path))
    .filter((value): value is string => typeof value === 'string' && value !== title)
  const { statusField, due } = resource
  const status = statusField !== null && valueAt(record, statusField)
  const toggle = propertyOf(resource, resourceViews[resource.name]?.toggle ?? '')
  const deadline = due && valueAt(record, due.field)
  const overdue = due && valueAt(record, due.overdueField) === true && propertyOf(resource, due.overdueField)
  const isChoice = resource.fields.some(({ name, type }) => name === statusField && type === 'choice')
  return (
    <span className={styles.card}>
      {toggle && resource.permissions.update ? (
        <Toggle resource={resource} property={toggle} record={record} texts={textsOf(toggle)} />
      ) : (
        <Avatar name={title} isLarge isSquare={!resourceViews[resource.name]?.isPerson} />
      )}
      <span className={styles.text}>
        <Link
          to="/$resource/$recordId"
          params={{ resource: resource.name, recordId: record.id }}
          className={`${styles.title} truncate`}
          tabIndex={-1}
        >
          {title}
        </Link>
        <PeopleHere recordId={record.id} isOver />
        <span className={`${styles.soft} truncate`}>
          {typeof deadline === 'string' ? <Time value={deadline} /> : about.slice(0, 2).join(' · ')}
        </span>
      </span>
      {overdue && <Tag tint="red">{labelOf(overdue.label)}</Tag>}
      {typeof status === 'string' && (
        <Tag tint={tintOf(status)} hasDot>
          {isChoice ? choiceLabel(status) : status}
        </Tag>
      )}
    </span>
  )
}
