import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Ellipsis, Pencil, Plus, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { type RecordData, useResource } from '../../api/schema.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { returnFocus } from '../../ui/focus.ts'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Avatar } from '../../ui/tag.tsx'
import { offerUndo } from '../../ui/undo.ts'
import { reportFailure } from '../../views/changes.ts'
import styles from '../../views/sections.module.css'
import { type Employment, employmentsChanged, employmentsQuery, usePeriod } from '../employment-data.ts'
import { EmploymentDialog } from './employment-dialog.tsx'

export const loadEmployments = (contactId: string): Promise<void> =>
  queryClient.prefetchQuery(employmentsQuery(contactId))

/** A contact's current and past employments, which can be added, changed and deleted. */
export function Employments({ record }: { record: RecordData }) {
  const t = useTranslations('employments')
  const section = useTranslations('record')
  const { data, error, refetch } = useQuery(employmentsQuery(record.id))
  const mayCreate = useResource('employments')?.permissions.create === true
  const [edited, setEdited] = useState<Employment | 'new'>()
  const addButton = useRef<HTMLButtonElement>(null)
  const close = () => {
    setEdited(undefined)
    returnFocus(null, () => addButton.current?.focus())
  }
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  return (
    <>
      {data?.length === 0 && <p className={styles.soft}>{section('noEmployments')}</p>}
      {data && data.length > 0 && (
        <List label={section('employments')}>
          {data.map((employment) => (
            <EmploymentRow key={employment.id} employment={employment} onEdit={() => setEdited(employment)} />
          ))}
        </List>
      )}
      {mayCreate && (
        <div>
          <Button ref={addButton} icon={Plus} onClick={() => setEdited('new')}>
            {t('add')}
          </Button>
        </div>
      )}
      {edited !== undefined && (
        <EmploymentDialog contactId={record.id} employment={edited === 'new' ? undefined : edited} onClose={close} />
      )}
    </>
  )
}

function EmploymentRow({ employment, onEdit }: { employment: Employment; onEdit(): void }) {
  const t = useTranslations('employments')
  const common = useTranslations('common')
  const periodOf = usePeriod()
  const may = useResource('employments')?.permissions
  const { organization, title, company } = employment
  const name = [title, organization].filter(Boolean).join(' · ')
  return (
    <ListRow
      leading={<Avatar name={organization} isSquare />}
      title={
        company ? (
          <>
            {title !== null && `${title} · `}
            <Link to="/$resource/$recordId" params={{ resource: 'companies', recordId: company.id }}>
              {organization}
            </Link>
          </>
        ) : (
          name
        )
      }
      text={periodOf(employment)}
    >
      {(may?.update || may?.delete) && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsFor', { name })} />}>
          <MenuItem icon={Pencil} disabled={!may.update} onSelect={onEdit}>
            {t('edit')}
          </MenuItem>
          <MenuItem
            icon={Trash2}
            isDanger
            disabled={!may.delete}
            onSelect={() => void remove(employment, t('deleted', { name }), t('notDeleted'))}
          >
            {common('delete')}
          </MenuItem>
        </Menu>
      )}
    </ListRow>
  )
}

async function remove({ id, contactId }: Employment, done: string, failed: string): Promise<void> {
  const path = `/v5/contacts/${contactId}/employments/${id}`
  const act = async (action: () => Promise<unknown>) => {
    try {
      await action()
    } catch (reason) {
      reportFailure(failed, reason)
    } finally {
      await employmentsChanged()
    }
  }
  await act(async () => {
    await send('DELETE', path)
    offerUndo(done, () => act(() => send('POST', `${path}/restore`)))
  })
}
