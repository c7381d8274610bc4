import { Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { storePreference } from '../preferences/storage.ts'
import { resourceViews } from '../registry/resources.ts'
import { Button } from '../ui/button.tsx'
import { Segments } from '../ui/chip.tsx'
import { PageBar } from '../ui/page.tsx'
import { useIsNarrowPage } from '../ui/use-media.ts'
import type { ListBase, ListChanges, ListState } from './list-state.ts'
import { ListToolbar } from './list-toolbar.tsx'
import { inLayout, type View } from './saved-views.ts'
import { ViewChanges } from './view-changes.tsx'
import { ViewTabs } from './view-tabs.tsx'

/** The layout of a list: table or board. */
export interface ListViewProps {
  resource: ResourceSchema
  state: ListState
  /** The current view and what it stores; without a view, the list of all records. */
  view: View | undefined
  base: ListBase
  onChange(changes: ListChanges, replace?: boolean): void
  onCreate(): void
}

interface ListHeadProps extends ListViewProps {
  /** Shown next to the heading, such as the number of records. */
  note: ReactNode
  /** The current board, even if the URL does not name it. */
  board?: string
  /** Shown at the start of the toolbar. */
  children?: ReactNode
}

/** The heading of a list with its views and actions, and the toolbar below it. */
export function ListHead({ resource, state, view, base, board, onChange, onCreate, note, children }: ListHeadProps) {
  const t = useTranslations('list')
  const labelOf = useLabel()
  const nounOf = useNoun()
  const isNarrow = useIsNarrowPage()
  const show = (layout: ListState['layout']) => {
    if (!view) storePreference(viewPreference(resource), layout)
    onChange({ ...(view ? inLayout(resource, state, layout) : { layout }), isDeleted: false, peek: undefined })
  }
  // A saved board keeps showing the same pipeline.
  const content = state.layout === 'board' && board !== undefined ? { ...state, board } : state
  const changes = resource.views && <ViewChanges {...{ resource, state, view, base, content }} />
  return (
    <>
      <PageBar
        title={labelOf(resource.label)}
        note={note}
        {...(resource.views && { tabs: <ViewTabs resource={resource} viewId={view?.id} content={content} /> })}
      >
        {resourceViews[resource.name]?.boardOf && (
          <Segments
            label={t('view')}
            options={[
              { value: 'table', label: t('table') },
              { value: 'board', label: t('board') },
            ]}
            value={state.layout}
            onChange={show}
          />
        )}
        {resource.permissions.create && (
          <Button kind="primary" icon={Plus} onClick={onCreate}>
            {t('create', { name: nounOf(resource.singularLabel) })}
          </Button>
        )}
      </PageBar>
      <ListToolbar resource={resource} state={state} onChange={onChange} {...(!isNarrow && { changes })}>
        {children}
      </ListToolbar>
      {isNarrow && changes}
    </>
  )
}

/** The layout that the person chose last. */
export const viewPreference = ({ name }: ResourceSchema): string => `view.${name}`
