import { RotateCcw } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { CopyRequest } from '../ui/copy-request.tsx'
import { List, ListRow, Panel } from '../ui/page.tsx'
import { Paged, type Pages, recordsOf } from './paged.tsx'

interface ListPanelProps<T> {
  title: string
  description?: string
  /** Of the list for assistive technology, if it is not the title. */
  label?: string
  /** What `pages` reads, to copy it. */
  path: string
  query?: Readonly<Record<string, string>>
  pages: Pages<T>
  /** Shown if the list has no record. */
  empty: string
  /** Buttons next to the heading. */
  actions?: ReactNode
  /** Above the list: what searches it. */
  head?: ReactNode
  /** The row of a record. */
  children(record: T): ReactNode
}

/** A panel with a list of the API, page by page; or that it is loading, failed or is empty. */
export function ListPanel<T extends { id: string }>(props: ListPanelProps<T>) {
  const { title, description, label = title, path, query, pages, empty, actions, head, children } = props
  return (
    <Panel
      title={title}
      description={description}
      actions={
        <>
          <CopyRequest path={path} {...(query && { query })} />
          {actions}
        </>
      }
    >
      {head}
      <Paged pages={pages} empty={empty}>
        {(records) => (
          <List label={label}>
            {records.map((record) => (
              <Fragment key={record.id}>{children(record)}</Fragment>
            ))}
          </List>
        )}
      </Paged>
    </Panel>
  )
}

interface DeletedPanelProps<T> {
  title: string
  description: string
  pages: Pages<T>
  titleOf(record: T): string
  textOf?(record: T): string
  onRestore(record: T): Promise<void>
}

/** The deleted records, each with a button that restores it. Nothing at all if there are none. */
export function DeletedPanel<T extends { id: string }>(props: DeletedPanelProps<T>) {
  const { title, description, pages, titleOf, textOf, onRestore } = props
  const common = useTranslations('common')
  const deleted = recordsOf(pages)
  if (deleted.length === 0) return undefined
  return (
    <Panel title={title} description={description}>
      <List label={title}>
        {deleted.map((record) => (
          <ListRow key={record.id} title={titleOf(record)} text={textOf?.(record)}>
            <Button icon={RotateCcw} onClick={() => void onRestore(record)}>
              {common('restore')}
            </Button>
          </ListRow>
        ))}
      </List>
    </Panel>
  )
}
