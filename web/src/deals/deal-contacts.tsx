import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Check, Ellipsis, Plus, Star, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { sendEdit, type Values } from '../api/edit.ts'
import { type RecordData, useResource } from '../api/schema.ts'
import { offerUndo } from '../ui/undo.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { returnFocus } from '../ui/focus.ts'
import { List, ListRow } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { reportFailure } from '../views/changes.ts'
import { useChoiceLabel } from '../views/choices.ts'
import { textProperty } from '../views/columns.tsx'
import { ReferenceEditor } from '../views/reference-editor.tsx'
import { Title } from '../views/value.tsx'
import sections from '../views/sections.module.css'
import styles from './deals.module.css'
import { useDeals } from './records.ts'
import { type DealContact, dealContactsQuery } from './section-data.ts'

/** The contacts of a deal and their roles; one contact is primary. */
export function DealContacts({ record }: { record: RecordData }) {
  const t = useTranslations('deals')
  const sectionTitle = useTranslations('record')
  const queryClient = useQueryClient()
  const canChange = useDeals().permissions.update
  const path = `/v5/deals/${record.id}/contacts`
  const { data, error, refetch } = useQuery(dealContactsQuery(record.id))
  const act = async (action: () => Promise<unknown>) => {
    try {
      await action()
    } catch (reason) {
      reportFailure(t('contactsNotChanged'), reason)
    } finally {
      await queryClient.invalidateQueries({ queryKey: ['deal-contacts', record.id] })
    }
  }
  const add = (contactId: string) =>
    act(() => send('POST', path, { body: { contactId, isPrimary: data?.length === 0 } }))
  const change = (seen: DealContact, values: Values) =>
    act(() => sendEdit({ path: `${path}/${seen.id}`, resource: 'deal-contacts', seen, values }))
  const remove = ({ id, contact }: DealContact) =>
    act(async () => {
      await send('DELETE', `${path}/${id}`)
      const restore = () => act(() => send('POST', `${path}/${id}/restore`))
      offerUndo(t('contactRemoved', { name: contact?.name ?? contact?.email ?? '' }), restore)
    })
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  const shown = (data ?? []).filter(({ contact }) => contact !== null)
  return (
    <>
      {data && shown.length === 0 && <p className={sections.soft}>{t('noContacts')}</p>}
      {shown.length > 0 && (
        <List label={sectionTitle('contacts')}>
          {shown.map((link) => (
            <ContactRow
              key={link.id}
              link={link}
              canChange={canChange}
              onChange={(values) => void change(link, values)}
              onRemove={() => void remove(link)}
            />
          ))}
        </List>
      )}
      {canChange && <AddContact onAdd={(id) => void add(id)} />}
    </>
  )
}

interface ContactRowProps {
  link: DealContact
  canChange: boolean
  onChange(values: Values): void
  onRemove(): void
}

function ContactRow({ link, canChange, onChange, onRemove }: ContactRowProps) {
  const t = useTranslations('deals')
  const common = useTranslations('common')
  const choiceLabel = useChoiceLabel()
  const contacts = useResource('contacts')
  const roles = useResource('deal-contacts')?.fields.find(({ name }) => name === 'role')?.choices ?? []
  const { contact, role, isPrimary } = link
  if (!contact || !contacts) return undefined
  const name = contact.name ?? contact.email ?? contact.id
  return (
    <ListRow title={<Title resource={contacts} record={contact} />} text={contact.name === null ? '' : contact.email}>
      {isPrimary && <Tag tint="blue">{t('primary')}</Tag>}
      {role !== null && <Tag>{choiceLabel(role)}</Tag>}
      {canChange && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsFor', { name })} />}>
          <MenuItem icon={Star} disabled={isPrimary} onSelect={() => onChange({ isPrimary: true })}>
            {t('makePrimary')}
          </MenuItem>
          <MenuItem icon={Trash2} isDanger onSelect={onRemove}>
            {common('remove')}
          </MenuItem>
          <MenuSeparator />
          <MenuLabel>{t('role')}</MenuLabel>
          {roles.map((choice) => (
            <MenuItem
              key={choice}
              {...(choice === role && { icon: Check })}
              onSelect={() => onChange({ role: choice === role ? null : choice })}
            >
              {choiceLabel(choice)}
            </MenuItem>
          ))}
        </Menu>
      )}
    </ListRow>
  )
}

function AddContact({ onAdd }: { onAdd(contactId: string): void }) {
  const t = useTranslations('deals')
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    returnFocus(null, () => button.current?.focus())
  }
  if (!isOpen)
    return (
      <div>
        <Button ref={button} icon={Plus} onClick={() => setOpen(true)}>
          {t('addContact')}
        </Button>
      </div>
    )
  const property = { ...textProperty('contactId', t('addContact')), type: 'reference' as const, resource: 'contacts' }
  return (
    <div className={styles.chooser}>
      <ReferenceEditor
        property={property}
        value={null}
        onCancel={close}
        onCommit={(id) => {
          close()
          if (typeof id === 'string') onAdd(id)
        }}
      />
    </div>
  )
}
