import { Link } from '@tanstack/react-router'
import { ArrowUpDown, Ellipsis, Lock, Pencil, Plus, Trash2, Users } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { type ResourceSchema, useResource } from '../api/schema.ts'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import type { ListBase } from './list-state.ts'
import { putView, useMayChange, useViews, type View } from './saved-views.ts'
import styles from './views.module.css'

const dialogs = () => import('./view-dialogs.tsx')
const NewView = lazy(() => dialogs().then((module) => ({ default: module.NewView })))
const RenameView = lazy(() => dialogs().then((module) => ({ default: module.RenameView })))
const OrderViews = lazy(() => dialogs().then((module) => ({ default: module.OrderViews })))
const DeleteView = lazy(() => dialogs().then((module) => ({ default: module.DeleteView })))

interface ViewTabsProps {
  resource: ResourceSchema
  /** The current view; without it, all records. */
  viewId: string | undefined
  /** The content of a new view; undefined if no list is shown. */
  content: ListBase | undefined
}

type OpenDialog = 'new' | 'rename' | 'order' | 'delete'

/** All records and the saved views, as links, with the actions of a view. */
export function ViewTabs({ resource, viewId, content }: ViewTabsProps) {
  const t = useTranslations('views')
  const { data: views } = useViews(resource)
  const mayCreate = useResource('views')?.permissions.create === true
  const [open, setOpen] = useState<OpenDialog>()
  const view = views?.find(({ id }) => id === viewId)
  const close = () => setOpen(undefined)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [viewId])
  if (!views) return <div className={styles.tabs} />
  return (
    <nav aria-label={t('title')} className={styles.tabs}>
      <ul ref={list} className={styles.list}>
        <Tab resource={resource} id={undefined} isActive={viewId === undefined}>
          {t('all')}
        </Tab>
        {views.map(({ id, name, isShared }) => {
          const Icon = isShared ? Users : Lock
          return (
            <Tab key={id} resource={resource} id={id} isActive={id === viewId}>
              <Icon size={13} strokeWidth={1.75} aria-hidden />
              <span className="truncate">{name}</span>
              <span className="visually-hidden">{t(isShared ? 'shared' : 'personal')}</span>
            </Tab>
          )
        })}
      </ul>
      {mayCreate && content && <IconButton icon={Plus} label={t('new')} onClick={() => setOpen('new')} />}
      {views.length > 0 && <OptionsMenu resource={resource} view={view} onOpen={setOpen} />}
      <Suspense>
        {open === 'new' && content && <NewView resource={resource} content={content} onClose={close} />}
        {open === 'rename' && view && <RenameView view={view} onClose={close} />}
        {open === 'order' && <OrderViews resource={resource} views={views} onClose={close} />}
        {open === 'delete' && view && <DeleteView view={view} onClose={close} />}
      </Suspense>
    </nav>
  )
}

interface TabProps {
  resource: ResourceSchema
  id: string | undefined
  isActive: boolean
  children: ReactNode
}

const Tab = ({ resource, id, isActive, children }: TabProps) => (
  <li>
    <Link
      to="/$resource"
      params={{ resource: resource.name }}
      search={(id === undefined ? {} : { view: id }) as never}
      className={styles.tab}
      activeOptions={{ exact: true, includeSearch: true }}
      aria-current={isActive ? 'page' : undefined}
    >
      {children}
    </Link>
  </li>
)

interface OptionsMenuProps {
  resource: ResourceSchema
  view: View | undefined
  onOpen(dialog: OpenDialog): void
}

/** The actions on the current view, and on the order of views. */
function OptionsMenu({ resource, view, onOpen }: OptionsMenuProps) {
  const t = useTranslations('views')
  const common = useTranslations('common')
  const act = useAct()
  const permissions = useResource('views')?.permissions
  const mayChange = useMayChange()
  const share = (shown: View) => {
    const { name, isShared } = shown
    const edit = { ...editOf('views', shown), values: { isShared: !isShared } }
    return act(async () => putView((await sendEdit<View>(edit)).body), {
      refresh: ['views', resource.name],
      done: t(isShared ? 'personalNow' : 'sharedNow', { name }),
    })
  }
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={t('options')} />}>
      {view && mayChange(view) && (
        <>
          <MenuLabel>{view.name}</MenuLabel>
          <MenuItem icon={Pencil} onSelect={() => onOpen('rename')}>
            {t('rename')}
          </MenuItem>
          <MenuItem icon={view.isShared ? Lock : Users} onSelect={() => void share(view)}>
            {t(view.isShared ? 'unshareView' : 'shareView')}
          </MenuItem>
          {permissions?.delete && (
            <MenuItem icon={Trash2} isDanger onSelect={() => onOpen('delete')}>
              {common('delete')}
            </MenuItem>
          )}
          <MenuSeparator />
        </>
      )}
      <MenuItem icon={ArrowUpDown} onSelect={() => onOpen('order')}>
        {t('order')}
      </MenuItem>
    </Menu>
  )
}
