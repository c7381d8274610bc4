import { Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useTranslations } from 'use-intl'
import { type ResourceSchema, useResource } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { readPreference } from '../preferences/storage.ts'
import { boards } from '../resources/boards.ts'
import { resourceViews } from '../resources/registry.ts'
import type { Search } from '../shell/search.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { NotFound } from '../shell/states.tsx'
import { useUndoShortcut } from './changes.ts'
import { CreateDialog } from './create-dialog.tsx'
import { viewPreference } from './list-head.tsx'
import { type ListState, readListState, writeListState } from './list-state.ts'
import { TableView } from './table-view.tsx'

/** The list of any resource: what it shows follows from the description and is kept in the URL. */
export function ListPage() {
  const { resource: name } = useParams({ strict: false })
  const search: Search = useSearch({ strict: false })
  const resource = useResource(name ?? '')
  const view = resource && resourceViews[resource.name]
  if (!resource || !view) return <NotFound />
  // An address without a state shows the view that the person chose last; at first, the board.
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
  return <ResourceList key={resource.name} resource={resource} search={search} />
}

function ResourceList({ resource, search }: { resource: ResourceSchema; search: Search }) {
  const t = useTranslations('list')
  const nounOf = useNoun()
  const navigate = useNavigate()
  const state = useMemo(() => readListState(resource, search), [resource, search])
  const change = useCallback(
    (changes: Partial<ListState>, replace = false) =>
      void navigate({ to: '.', search: writeListState(resource, { ...state, ...changes }), replace }),
    [navigate, resource, state],
  )
  const create = () => void navigate({ to: '.', search: { ...search, new: '1' } })
  useUndoShortcut()
  useShortcuts(
    resource.permissions.create
      ? [{ keys: 'c', label: t('create', { name: nounOf(resource.singularLabel) }), run: create }]
      : [],
  )
  // A new record belongs to the board that is shown.
  const boardOf = resourceViews[resource.name]?.boardOf
  const isOnBoard = boardOf !== undefined && state.view === 'board' && state.board !== undefined
  const View = (state.view === 'board' && boards[resource.name]) || TableView
  return (
    <>
      <View resource={resource} state={state} onChange={change} onCreate={create} />
      {typeof search.new === 'string' && (
        <CreateDialog
          resource={resource}
          text={search.new === '1' ? '' : search.new}
          {...(isOnBoard && { initial: { [boardOf]: state.board } })}
          onClose={() => change({}, true)}
        />
      )}
    </>
  )
}
