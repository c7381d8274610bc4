import { Check, Copy, Pencil } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type RecordData, useResource } from '../../api/schema.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { useCopy } from '../../ui/copy-field.tsx'
import { mailLink, phoneLink } from '../../ui/link-address.ts'
import { List, ListRow } from '../../ui/page.tsx'
import { Tag } from '../../ui/tag.tsx'
import { Time } from '../../ui/time.tsx'
import styles from '../../views/sections.module.css'
import { type Entry, entriesOf, textOf } from './address-entries.ts'

const AddressesDialog = lazy(() =>
  import('./addresses-dialog.tsx').then((loaded) => ({ default: loaded.AddressesDialog })),
)

/** The further email addresses and phone numbers of a contact: its properties have the primary ones. */
export function Addresses({ record }: { record: RecordData }) {
  const t = useTranslations('addresses')
  const contacts = useResource('contacts')
  const [isEditing, setEditing] = useState(false)
  const lists = (['emails', 'phones'] as const).map((name) => [name, entriesOf(record, name).filter(isListed)] as const)
  const filled = lists.filter(([, entries]) => entries.length > 0)
  return (
    <>
      {filled.length === 0 && <p className={styles.soft}>{t('none')}</p>}
      {filled.map(([name, entries]) => (
        <List key={name} label={t(name)}>
          {entries.map((entry) => (
            <Row key={textOf(entry)} entry={entry} />
          ))}
        </List>
      ))}
      {contacts?.permissions.update && (
        <Button kind="quiet" icon={Pencil} onClick={() => setEditing(true)}>
          {t('edit')}
        </Button>
      )}
      {isEditing && (
        <Suspense>
          <AddressesDialog record={record} onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </>
  )
}

/** The primary one too if messages to it are returned. */
const isListed = ({ primary, bouncedAt }: Entry): boolean => !primary || (bouncedAt ?? null) !== null

function Row({ entry }: { entry: Entry }) {
  const t = useTranslations('addresses')
  const address = textOf(entry)
  const { isCopied, copy } = useCopy(address)
  return (
    <ListRow
      title={<a href={entry.number === undefined ? mailLink(address) : phoneLink(address)}>{address}</a>}
      text={
        <>
          {entry.kind !== null && t(entry.kind)} {entry.primary && <Tag tint="blue">{t('primary')}</Tag>}{' '}
          {entry.bouncedAt && (
            <Tag tint="red">{t.rich('bounced', { time: () => <Time value={entry.bouncedAt ?? ''} /> })}</Tag>
          )}
        </>
      }
    >
      <IconButton
        icon={isCopied ? Check : Copy}
        label={isCopied ? t('copied') : t('copy', { address })}
        onClick={copy}
      />
    </ListRow>
  )
}
