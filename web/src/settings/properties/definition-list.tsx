import { useQuery } from '@tanstack/react-query'
import { Archive, ArchiveRestore, Ellipsis, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import type { Definition } from '../../api/declared-field.ts'
import { editOf, sendEdit, whenStored } from '../../api/edit.ts'
import { showDefinitions, useResource } from '../../api/schema.ts'
import { useLabel } from '../../messages/labels.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { SortableList } from '../../ui/sortable-list.tsx'
import { Tag } from '../../ui/tag.tsx'
import { useMay } from '../../api/permissions.ts'
import styles from './properties.module.css'
import { changeDefinitions, type Definable, path, updateDefinition } from './definitions.ts'
import { positionsAfterMove } from './positions.ts'
import { PropertyForm } from './property-form.tsx'
import { TypeIcon } from './property-icon.tsx'

interface DefinitionListProps {
  name: Definable
  definitions: readonly Definition[]
}

/** The definitions in the order of forms and records. */
export function DefinitionList({ name, definitions }: DefinitionListProps) {
  const t = useTranslations('properties')
  const may = useMay()
  const act = useAct()
  const archived = useResource(name)?.properties?.filter((one) => one.archived) ?? []
  const move = async (id: string, index: number) => {
    const changes = positionsAfterMove(definitions, id, index)
    const moved = definitions.filter((one) => one.id === id)
    // Show the new order at once; the service's response replaces it.
    showDefinitions(name, [...definitions.filter((one) => one.id !== id).toSpliced(index, 0, ...moved), ...archived])
    const store = async () => {
      for (const { id: changed, position } of changes) {
        const seen = definitions.find((one) => one.id === changed)
        if (seen) await sendEdit({ ...editOf('properties', seen), values: { position }, isMove: true })
      }
    }
    await act(() => changeDefinitions(() => store().finally(whenStored)), { refresh: [] })
  }
  if (definitions.length === 0) return <p className={styles.soft}>{t('empty')}</p>
  return (
    <SortableList
      label={t('defined')}
      items={definitions}
      titleOf={({ label }) => label}
      onMove={may('property:update:write') ? (id, index) => void move(id, index) : undefined}
    >
      {(definition) => <DefinitionRow name={name} definition={definition} />}
    </SortableList>
  )
}

function DefinitionRow({ name, definition }: { name: Definable; definition: Definition }) {
  const t = useTranslations('properties')
  const labelOf = useLabel()
  const { type, key, label, description, reference } = definition
  const referenced = useResource(reference?.resource ?? '')
  const rules = (['required', 'unique', 'indexed'] as const).filter((rule) => definition[rule])
  const isBuilding = useIsBuilding(definition)
  return (
    <>
      <span className={styles.icon}>
        <TypeIcon type={type} />
      </span>
      <div className={styles.text}>
        <div className={styles.name}>
          <span className="truncate">{label}</span>
          <code className="truncate">{key}</code>
        </div>
        <div className={styles.facts}>
          <span>{referenced ? t('referenceTo', { name: labelOf(referenced.label) }) : t(`types.${type}`)}</span>
          {rules.map((rule) => (
            <Tag key={rule}>{t(rule)}</Tag>
          ))}
          {isBuilding && (
            <span role="status">
              <Tag tint="blue" hasDot>
                {t('indexing')}
              </Tag>
            </span>
          )}
          {description !== null && <span className="truncate">{description}</span>}
        </div>
      </div>
      <DefinitionMenu name={name} definition={definition} />
    </>
  )
}

/** Is the index of a property still being built? Polls until it is complete. */
function useIsBuilding({ id, indexed }: Definition): boolean {
  const { data } = useQuery({
    queryKey: ['properties', id, 'indexState'],
    queryFn: async () => (await send<Schemas['Property']>('GET', `${path}/${id}`)).body.indexState,
    enabled: indexed,
    refetchInterval: ({ state }) => (state.data === 'building' ? 2000 : false),
  })
  return indexed && data === 'building'
}

function DefinitionMenu({ name, definition }: { name: Definable; definition: Definition }) {
  const t = useTranslations('properties')
  const common = useTranslations('common')
  const may = useMay()
  const act = useAct()
  const archive = useArchive(definition)
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const close = () => setOpen(undefined)
  const { id, label, archived } = definition
  const restore = () =>
    void act(() => changeDefinitions(() => send('POST', `${path}/${id}/restore`)), {
      refresh: [],
      done: common('undone'),
    })
  const remove = () =>
    act(() => changeDefinitions(() => send('DELETE', `${path}/${id}`)), {
      refresh: [],
      done: t('deleted', { name: label }),
      ...(may('property:restore:write') && { undo: restore }),
    })
  if (!may('property:update:write')) return undefined
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsFor', { name: label })} />}>
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          {common('edit')}
        </MenuItem>
        {!archived && (
          <MenuItem icon={Archive} onSelect={archive}>
            {t('archive')}
          </MenuItem>
        )}
        {may('property:delete:write') && (
          <MenuItem icon={Trash2} isDanger onSelect={() => setOpen('delete')}>
            {common('delete')}
          </MenuItem>
        )}
      </Menu>
      <Dialog title={t('editTitle', { name: label })} isOpen={open === 'edit'} isLarge onClose={close}>
        <PropertyForm resource={name} definition={definition} onDone={close} />
      </Dialog>
      <ConfirmDialog
        title={t('deleteConfirm', { name: label })}
        description={t('deleteText')}
        action={common('delete')}
        isOpen={open === 'delete'}
        onClose={close}
        onConfirm={remove}
      />
    </>
  )
}

/** Archives or unarchives a property, and offers to undo that. */
function useArchive(definition: Definition): () => void {
  const { label, archived } = definition
  const t = useTranslations('properties')
  const common = useTranslations('common')
  const act = useAct()
  const set = (value: boolean, done: string, undo?: () => void) =>
    void act(() => updateDefinition({ ...definition, archived: !value }, { archived: value }), {
      refresh: [],
      done,
      ...(undo && { undo }),
    })
  return () =>
    set(!archived, t(archived ? 'unarchived' : 'archivedDone', { name: label }), () => set(archived, common('undone')))
}

/** Renders nothing if none is archived. */
export function ArchivedProperties({ name, definitions }: DefinitionListProps) {
  const t = useTranslations('properties')
  if (definitions.length === 0) return undefined
  return (
    <Panel title={t('archivedTitle')} description={t('archivedText')}>
      <List label={t('archivedTitle')}>
        {definitions.map((definition) => (
          <ListRow key={definition.id} title={definition.label} text={t(`types.${definition.type}`)}>
            <BringBack definition={definition} />
            <DefinitionMenu name={name} definition={definition} />
          </ListRow>
        ))}
      </List>
    </Panel>
  )
}

function BringBack({ definition }: { definition: Definition }) {
  const t = useTranslations('properties')
  const archive = useArchive(definition)
  if (!useMay()('property:update:write')) return undefined
  return (
    <Button icon={ArchiveRestore} onClick={archive}>
      {t('unarchive')}
    </Button>
  )
}
