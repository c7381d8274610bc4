import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import { DeletedPanel } from '../list-panel.tsx'
import { usePages } from '../paged.tsx'
import { useMay } from '../../api/permissions.ts'
import { changeDefinitions, type Definable, path } from './definitions.ts'

type Deleted = Schemas['Property']

/** Renders nothing for people who may not restore properties. */
export function DeletedProperties({ name }: { name: Definable }) {
  return useMay()('property:restore:write') && <Deletions name={name} />
}

function Deletions({ name }: { name: Definable }) {
  const t = useTranslations('properties')
  const act = useAct()
  const pages = usePages<Deleted>(path, { 'filter.resource.equals': name, deleted: 'true' })
  const restore = ({ id, label }: Deleted) =>
    act(() => changeDefinitions(() => send('POST', `${path}/${id}/restore`)), {
      refresh: [],
      done: t('restored', { name: label }),
    })
  return (
    <DeletedPanel
      title={t('deletedTitle')}
      description={t('deletedText')}
      pages={pages}
      titleOf={({ label }) => label}
      textOf={({ type }) => t(`types.${type}`)}
      onRestore={restore}
    />
  )
}
