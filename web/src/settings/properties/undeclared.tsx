import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import { type ResourceSchema, useResource } from '../../api/schema.ts'
import { useNoun } from '../../messages/labels.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField } from '../../ui/field.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { useMay } from '../../api/permissions.ts'
import { type Definable, path, type PropertyType } from './definitions.ts'
import { labelOfKey } from './keys.ts'
import type { Beginning } from './property-form.tsx'
import styles from './properties.module.css'

type Undeclared = Schemas['UndeclaredProperties']

const settingPath = `${path}/undeclared`

interface UndeclaredProps {
  name: Definable
  /** Undefined if the person may not define properties. */
  onDefine: ((beginning: Beginning) => void) | undefined
}

/** Keys without a definition: whether the service accepts them, and the ones that records have. */
export function Undeclared({ name, onDefine }: UndeclaredProps) {
  const t = useTranslations('properties')
  const nounOf = useNoun()
  const act = useAct()
  const resource = useResource(name)
  const canChange = useMay()('property:undeclared:write')
  const { data } = useQuery({
    queryKey: ['properties', 'undeclared'],
    queryFn: async () => (await send<Undeclared>('GET', settingPath)).body,
  })
  const keys = resource?.customProperties ?? []
  const noun = nounOf(resource?.label ?? name)
  const accept = (isAccepted: boolean) =>
    act(() => send('PATCH', settingPath, { body: { [name]: isAccepted ? 'accepted' : 'refused' } }), {
      refresh: ['properties'],
      done: t(isAccepted ? 'acceptedDone' : 'refusedDone', { resource: noun }),
    })
  return (
    <Panel title={t('undeclared')} description={t('undeclaredText')}>
      {data &&
        (canChange ? (
          <CheckField
            label={t('accept')}
            hint={t('acceptHint')}
            checked={data[name] === 'accepted'}
            onChange={(event) => void accept(event.target.checked)}
          />
        ) : (
          <p className={styles.soft}>{t(data[name] === 'accepted' ? 'areAccepted' : 'areRefused')}</p>
        ))}
      {keys.length > 0 && (
        <List label={t('undeclared')}>
          {keys.map((one) => (
            <ListRow key={one.key} title={<code>{one.key}</code>} text={t('usedBy', { resource: noun })}>
              {onDefine && (
                <Button
                  icon={Plus}
                  aria-label={t('defineNamed', { key: one.key })}
                  onClick={() => onDefine({ key: one.key, label: labelOfKey(one.key), type: typeOf(one) })}
                >
                  {t('define')}
                </Button>
              )}
            </ListRow>
          ))}
        </List>
      )}
    </Panel>
  )
}

/** The type that fits the values best. */
const typeOf = ({ type }: NonNullable<ResourceSchema['customProperties']>[number]): PropertyType =>
  type === 'number' || type === 'boolean' ? type : 'text'
