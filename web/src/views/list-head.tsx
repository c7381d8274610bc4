import { Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { storePreference } from '../preferences/storage.ts'
import { resourceViews } from '../resources/registry.ts'
import { Button } from '../ui/button.tsx'
import { Segments } from '../ui/chip.tsx'
import { PageBar } from '../ui/page.tsx'
import type { ListState } from './list-state.ts'
import { ListToolbar } from './list-toolbar.tsx'

/** What a list shows, as a table or as a board. */
export interface ListViewProps {
  resource: ResourceSchema
  state: ListState
  onChange(changes: Partial<ListState>, replace?: boolean): void
  onCreate(): void
}

interface ListHeadProps extends ListViewProps {
  /** Next to the heading, such as the number of records. */
  note: ReactNode
  /** At the beginning of the toolbar. */
  children?: ReactNode
}

/** The heading of a list with its actions, and the toolbar below it. */
export function ListHead({ resource, state, onChange, onCreate, note, children }: ListHeadProps) {
  const t = useTranslations('list')
  const labelOf = useLabel()
  const nounOf = useNoun()
  const show = (view: ListState['view']) => {
    storePreference(viewPreference(resource), view)
    onChange({ view, isDeleted: false, peek: undefined })
  }
  return (
    <>
      <PageBar title={labelOf(resource.label)} note={note}>
        {resourceViews[resource.name]?.boardOf && (
          <Segments
            label={t('view')}
            options={[
              { value: 'table', label: t('table') },
              { value: 'board', label: t('board') },
            ]}
            value={state.view}
            onChange={show}
          />
        )}
        {resource.permissions.create && (
          <Button kind="primary" icon={Plus} onClick={onCreate}>
            {t('create', { name: nounOf(resource.singularLabel) })}
          </Button>
        )}
      </PageBar>
      <ListToolbar resource={resource} state={state} onChange={onChange}>
        {children}
      </ListToolbar>
    </>
  )
}

/** The view that the person chose last. */
export const viewPreference = ({ name }: ResourceSchema): string => `view.${name}`
