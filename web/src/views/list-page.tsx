import { type AsyncRouteComponent, Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense, useCallback, useMemo } from 'react'
import { useTranslations } from 'use-intl'
import { type ResourceSchema, useResource } from '../api/schema.ts'
import { useLabel, useNoun } from '../messages/labels.ts'
import { readPreference } from '../preferences/storage.ts'
import { resourceViews } from '../registry/resources.ts'
import type { Search } from '../api/search.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { NotFound } from '../ui/states.tsx'
import { useUndoShortcut } from '../ui/undo.ts'
import { Failure } from '../ui/empty-state.tsx'
import { PageBar } from '../ui/page.tsx'
import { InvalidFilter } from './list-failure.tsx'
import { type ListViewProps, viewPreference } from './list-head.tsx'
import {
  defaultBase,
  type ListChanges,
  type ListState,
  parseListState,
  viewIdOf,
  writeListState,
} from './list-state.ts'
import { baseOf, useView, type View } from './saved-views.ts'
import { TableView } from './table-view.tsx'
import { ViewTabs } from './view-tabs.tsx'

const CreateDialog = lazy(() => import('./create-dialog.tsx').then((module) => ({ default: module.CreateDialog })))

const MissingView = lazy(() => import('./missing-view.tsx').then((module) => ({ default: module.MissingView })))

/** What lists show that does not follow from the description of a resource; by resource. */
export interface ListParts {
  /** Instead of a table. */
  boards: Readonly<Record<string, AsyncRouteComponent<ListViewProps>>>
  /** Instead of the form for a new record. `text` is what was searched for. */
  createDialogs: Readonly<Record<string, ComponentType<{ text: string; onClose(): void }>>>
}

/** The list of any resource: what it shows follows from the description and is kept in the URL. */
export function ListPage(parts: ListParts) {
  const { resource: name } = useParams({ strict: false })
  const search: Search = useSearch({ strict: false })
  const resource = useResource(name ?? '')
  const view = resource && resourceViews[resource.name]
  if (!resource || !view) return <NotFound />
  // A URL without a state opens the layout that the person chose last; by default, the board.
  const isBare = Object.keys(search).every((parameter) => parameter === 'new')
  if (view.boardOf && isBare) {
    const chosen = readPreference(viewPreference(resource)) === 'table' ? 'table' : 'board'
    return (
      <Navigate
        to="/$resource"
        params={{ resource: resource.name }}
        search={{ ...search, view: chosen } as never}
        replace
      />
    )
  }
  return <ListOfView key={resource.name} resource={resource} search={search} {...parts} />
}

interface ListOfViewProps extends ListParts {
  resource: ResourceSchema
  search: Search
}

/** The list with the view that the URL names; never another list in its place. */
function ListOfView({ resource, search, ...parts }: ListOfViewProps) {
  const labelOf = useLabel()
  const id = viewIdOf(search)
  const { view, isLoading, error, retry } = useView(resource, id)
  if (id === undefined || view) return <ResourceList resource={resource} search={search} view={view} {...parts} />
  return (
    <>
      <PageBar
        title={labelOf(resource.label)}
        {...(resource.views && { tabs: <ViewTabs resource={resource} viewId={id} content={undefined} /> })}
      />
      {error && <Failure error={error} onRetry={retry} />}
      <Suspense>{!error && !isLoading && <MissingView resource={resource} />}</Suspense>
    </>
  )
}

interface ResourceListProps extends ListOfViewProps {
  view: View | undefined
}

function ResourceList({ resource, search, view, boards, createDialogs }: ResourceListProps) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const base = useMemo(() => (view ? baseOf(resource, view) : defaultBase(resource)), [resource, view])
  const state = useMemo(() => parseListState(resource, search, base), [resource, search, base])
  const change = useCallback(
    (changes: ListChanges, replace = false) =>
      void navigate({
        to: '.',
        // The URL may already contain another change that is not rendered yet: neither may revert the other.
        search: (latest: Search) => {
          const before = parseListState(resource, latest, base)
          return writeListState(
            resource,
            { ...before, ...(typeof changes === 'function' ? changes(before) : changes) },
            base,
          )
        },
        replace,
      }),
    [navigate, resource, base],
  )
  const create = () => void navigate({ to: '.', search: { ...search, new: '1' } })
  useUndoShortcut()
  useShortcuts(
    resource.permissions.create
      ? [{ keys: 'c', label: t('create', { name: nounOf(resource.singularLabel) }), run: create }]
      : [],
  )
  if (state.isFilterInvalid) return <InvalidList resource={resource} state={state} onChange={change} />
  // A new record belongs to the current board.
  const boardOf = resourceViews[resource.name]?.boardOf
  const isOnBoard = boardOf !== undefined && state.layout === 'board' && state.board !== undefined
  const OwnDialog = createDialogs[resource.name]
  const text = search.new === '1' ? '' : search.new
  const View = (state.layout === 'board' && boards[resource.name]) || TableView
  return (
    <>
      <View resource={resource} state={state} view={view} base={base} onChange={change} onCreate={create} />
      {typeof text === 'string' && (
        <Suspense>
          {OwnDialog ? (
            <OwnDialog text={text} onClose={() => change({}, true)} />
          ) : (
            <CreateDialog
              resource={resource}
              text={text}
              {...(isOnBoard && { initial: { [boardOf]: state.board } })}
              onClose={() => change({}, true)}
            />
          )}
        </Suspense>
      )}
    </>
  )
}

interface InvalidListProps {
  resource: ResourceSchema
  state: ListState
  onChange(changes: Partial<ListState>): void
}

function InvalidList({ resource, state, onChange }: InvalidListProps) {
  const t = useTranslations('filters')
  const labelOf = useLabel()
  return (
    <>
      <PageBar
        title={labelOf(resource.label)}
        {...(resource.views && { tabs: <ViewTabs resource={resource} viewId={state.view} content={undefined} /> })}
      />
      <InvalidFilter text={t('invalidText')} onClear={() => onChange({ filters: [], parts: [] })} />
    </>
  )
}
