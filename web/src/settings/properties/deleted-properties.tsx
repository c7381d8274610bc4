import { RotateCcw } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { usePages } from '../paged.tsx'
import { useMay } from '../../api/permissions.ts'
import { changeDefinitions, type Definable, path } from './definitions.ts'

type Deleted = Schemas['Property']

/** Nothing at all for people who may not restore them. */
export function DeletedProperties({ name }: { name: Definable }) {
  return useMay()('property:restore:write') && <Deletions name={name} />
}

/** Nothing at all if none was deleted. */
function Deletions({ name }: { name: Definable }) {
  const t = useTranslations('properties')
  const common = useTranslations('common')
  const act = useAct()
  const pages = usePages<Deleted>(path, { 'filter.resource.equals': name, deleted: 'true' })
  const deleted = pages.data?.pages.flatMap(({ records }) => records) ?? []
  if (deleted.length === 0) return undefined
  const restore = ({ id, label }: Deleted) =>
    act(() => changeDefinitions(() => send('POST', `${path}/${id}/restore`)), {
      refresh: [],
      done: t('restored', { name: label }),
    })
  return (
    <Panel title={t('deletedTitle')} description={t('deletedText')}>
      <List label={t('deletedTitle')}>
        {deleted.map((property) => (
          <ListRow key={property.id} title={property.label} text={t(`types.${property.type}`)}>
            <Button icon={RotateCcw} onClick={() => void restore(property)}>
              {common('restore')}
            </Button>
          </ListRow>
        ))}
      </List>
    </Panel>
  )
}
