import { Ellipsis, ListFilter, Trash2 } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { IconButton } from '../ui/button.tsx'
import { CopyRequestItem } from '../shell/copy-request.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { ColumnsMenu } from './columns-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { filterParameters, type ListState, orderParameters } from './list-state.ts'
import { SortMenu } from './sort-menu.tsx'
import styles from './list.module.css'

interface ListToolbarProps {
  resource: ResourceSchema
  state: ListState
  onChange(changes: Partial<ListState>, replace?: boolean): void
  /** Before the search. */
  children?: ReactNode
}

/** Search, filters, sort, columns, and what else can be done with the list. */
export function ListToolbar({ resource, state, onChange, children }: ListToolbarProps) {
  const t = useTranslations('list')
  return (
    <div className={styles.bar} role="toolbar" aria-label={t('toolbar')}>
      {children}
      {resource.search && (
        <Search resource={resource} query={state.query} onSearch={(query) => onChange({ query }, true)} />
      )}
      <FilterBar resource={resource} filters={state.filters} onChange={(filters) => onChange({ filters })} />
      <span className={styles.spring} />
      {state.view === 'table' && (
        <>
          <SortMenu resource={resource} order={state} onSort={(order) => onChange(order)} />
          <span className={styles.hideOnPhone}>
            <ColumnsMenu
              resource={resource}
              columns={state.columns}
              onChange={(columns) => onChange({ columns }, true)}
            />
          </span>
        </>
      )}
      <MoreMenu resource={resource} state={state} onChange={onChange} />
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
  const query = new URLSearchParams([...filterParameters(state), ...orderParameters(state), ['limit', '100']])
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={common('more')} />}>
      <CopyRequestItem path={resource.path} query={query} />
      {resource.softDelete && resource.permissions.restore && (
        <MenuItem
          icon={state.isDeleted ? ListFilter : Trash2}
          onSelect={() => onChange({ isDeleted: !state.isDeleted, view: 'table' })}
        >
          {t(state.isDeleted ? 'hideDeleted' : 'showDeleted')}
        </MenuItem>
      )}
    </Menu>
  )
}
