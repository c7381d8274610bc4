import { Ellipsis, ListFilter, Trash2 } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { IconButton } from '../ui/button.tsx'
import { CopyRequestItem } from '../ui/copy-request.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { ColumnsMenu } from './columns-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { type ListChanges, type ListState, orderParameters, recordFilterOf } from './list-state.ts'
import { SortMenu } from './sort-menu.tsx'
import styles from './list.module.css'

interface ListToolbarProps {
  resource: ResourceSchema
  state: ListState
  onChange(changes: ListChanges, replace?: boolean): void
  /** Shown before the search. */
  children?: ReactNode
  /** Buttons for unsaved changes of the view. */
  changes?: ReactNode
}

/** Search, filters, sorting, columns, and other actions on the list. */
export function ListToolbar({ resource, state, onChange, children, changes }: ListToolbarProps) {
  const t = useTranslations('list')
  return (
    <div className={styles.bar} role="toolbar" aria-label={t('toolbar')}>
      {children}
      {resource.search && (
        <Search resource={resource} query={state.query} onSearch={(query) => onChange({ query }, true)} />
      )}
      <FilterBar resource={resource} state={state} onChange={onChange} />
      {changes}
      <span className={styles.end}>
        {state.layout === 'table' && (
          <>
            <SortMenu resource={resource} order={state} onSort={(order) => onChange(order)} />
            <span className={styles.hideOnPhone}>
              <ColumnsMenu
                resource={resource}
                columns={state.columns}
                onChange={(changed) => onChange(({ columns }) => ({ columns: changed(columns) }), true)}
              />
            </span>
          </>
        )}
        <MoreMenu resource={resource} state={state} onChange={onChange} />
      </span>
    </div>
  )
}

interface SearchProps {
  resource: ResourceSchema
  query: string
  onSearch(query: string): void
}

function Search({ resource, query, onSearch }: SearchProps) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const input = useRef<HTMLInputElement>(null)
  const label = t('searchNamed', { name: nounOf(resource.label) })
  useShortcuts([{ keys: '/', label, run: () => input.current?.focus() }])
  return <SearchField ref={input} label={label} value={query} onSearch={onSearch} isCompact />
}

function MoreMenu({ resource, state, onChange }: ListToolbarProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const page = new URLSearchParams([...orderParameters(state), ['limit', '100']])
  const request = recordFilterOf(resource, state).requestOf(resource.path, page)
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={common('more')} />}>
      <CopyRequestItem {...request} />
      {resource.softDelete && resource.permissions.restore && (
        <MenuItem
          icon={state.isDeleted ? ListFilter : Trash2}
          onSelect={() => onChange({ isDeleted: !state.isDeleted, layout: 'table' })}
        >
          {t(state.isDeleted ? 'hideDeleted' : 'showDeleted')}
        </MenuItem>
      )}
    </Menu>
  )
}
