import { Plus, Trash2 } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { editOf, isSame, sendEdit } from '../../api/edit.ts'
import { type RecordData, titleOf, useResource } from '../../api/schema.ts'
import { refusalText } from '../../messages/refusals.ts'
import { useDraft } from '../../preferences/drafts.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorText } from '../../ui/error-text.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { SortableList } from '../../ui/sortable-list.tsx'
import { recordChanged } from '../../views/changes.ts'
import { type Entry, entriesOf, type ListName, textOf } from './address-entries.ts'
import styles from './addresses.module.css'

/** An entry with what identifies it while its address is typed. */
type Row = Entry & { id: string }

type Lists = Record<ListName, Row[]>

interface Draft {
  seen: RecordData
  lists: Lists
}

const names = ['emails', 'phones'] as const
const itemNames = { emails: 'address', phones: 'number' } as const
const addressKinds = ['work', 'personal', 'mobile', 'other'] as const

/** Edits both lists of a contact, and saves what has changed. */
export function AddressesDialog({ record, onClose }: { record: RecordData; onClose(): void }) {
  const t = useTranslations('addresses')
  const common = useTranslations('common')
  const contacts = useResource('contacts')
  // A draft is a change of what was seen then: somebody else may have added an address since.
  const [{ seen, lists }, setDraft, isRestored] = useDraft<Draft>(`addresses ${record.id}`, () => ({
    seen: record,
    lists: listsOf(record),
  }))
  const submit = async () => {
    const values = Object.fromEntries(names.map((name) => [name, lists[name].map(entryOf)]))
    const { body } = await sendEdit({ ...editOf('contacts', seen), values })
    if (contacts) recordChanged(contacts, body)
    onClose()
  }
  return (
    <Dialog
      title={t('title', { name: contacts ? titleOf(contacts, record) : '' })}
      description={t('hint')}
      isOpen
      onClose={onClose}
      isLarge
    >
      <Form
        isGuarded
        isRestored={isRestored}
        isChanged={!isSame(lists, listsOf(seen))}
        submitLabel={common('save')}
        onSubmit={submit}
        onCancel={onClose}
      >
        {(errorOf) =>
          names.map((name) => (
            <ListFields
              key={name}
              name={name}
              rows={lists[name]}
              errorOf={errorOf}
              onChange={(rows) => setDraft({ seen, lists: { ...lists, [name]: rows } })}
            />
          ))
        }
      </Form>
    </Dialog>
  )
}

const rowsOf = (record: RecordData, name: ListName): Row[] =>
  entriesOf(record, name).map((entry) => ({ ...entry, id: textOf(entry) }))

const listsOf = (record: RecordData): Lists => ({
  emails: rowsOf(record, 'emails'),
  phones: rowsOf(record, 'phones'),
})

function entryOf({ ...row }: Partial<Row>): Partial<Entry> {
  delete row.id
  return row
}

interface ListFieldsProps {
  name: ListName
  rows: readonly Row[]
  errorOf(field: string): string | undefined
  onChange(rows: Row[]): void
}

function ListFields({ name, rows, errorOf, onChange }: ListFieldsProps) {
  const t = useTranslations('addresses')
  const titleOfRow = (row: Row) => textOf(row) || t('newEntry')
  const moved = (id: string, index: number) => {
    const others = rows.filter((row) => row.id !== id)
    onChange(others.toSpliced(index, 0, ...rows.filter((row) => row.id === id)))
  }
  // The first of the others becomes the primary one.
  const remove = (gone: Row) => {
    const [first, ...others] = rows.filter((row) => row !== gone)
    onChange(first ? [{ ...first, primary: first.primary || gone.primary }, ...others] : [])
  }
  const add = () =>
    onChange([
      ...rows,
      { id: crypto.randomUUID(), [itemNames[name]]: '', kind: null, primary: !rows.some(({ primary }) => primary) },
    ])
  // A conflict with another contact names the field of the primary address.
  const error = errorOf(name) ?? errorOf(name.slice(0, -1))
  return (
    <fieldset className={styles.fieldset}>
      <legend>{t(name)}</legend>
      {error !== undefined && (
        <p role="alert">
          <ErrorText text={refusalText(error)} />
        </p>
      )}
      <SortableList label={t(name)} items={rows} titleOf={titleOfRow} onMove={rows.length > 1 ? moved : undefined}>
        {(row) => (
          <Fields
            name={name}
            row={row}
            error={errorOf(`${name}.${rows.indexOf(row)}.${itemNames[name]}`)}
            onChange={(change) => onChange(rows.map((one) => (one.id === row.id ? { ...one, ...change } : one)))}
            onPrimary={() => onChange(rows.map((one) => ({ ...one, primary: one.id === row.id })))}
            onRemove={() => remove(row)}
          />
        )}
      </SortableList>
      <Button kind="quiet" icon={Plus} onClick={add}>
        {t(name === 'emails' ? 'addEmail' : 'addPhone')}
      </Button>
    </fieldset>
  )
}

interface FieldsProps {
  name: ListName
  row: Row
  error: string | undefined
  onChange(change: Partial<Entry>): void
  onPrimary(): void
  onRemove(): void
}

function Fields({ name, row, error, onChange, onPrimary, onRemove }: FieldsProps) {
  const t = useTranslations('addresses')
  const item = itemNames[name]
  const address = textOf(row) || t('newEntry')
  // Another address has not been returned.
  const change = (text: string) => onChange({ [item]: text, ...(row.bouncedAt && { bouncedAt: null }) })
  return (
    <div className={styles.entry}>
      <TextField
        label={t(item)}
        type={name === 'emails' ? 'email' : 'tel'}
        value={textOf(row)}
        error={error}
        onChange={({ target }) => change(target.value)}
      />
      <SelectField
        label={t('kind')}
        options={[{ value: '', label: t('noKind') }, ...addressKinds.map((kind) => ({ value: kind, label: t(kind) }))]}
        value={row.kind ?? ''}
        onChange={({ target }) => onChange({ kind: addressKinds.find((kind) => kind === target.value) ?? null })}
      />
      <div className={styles.actions}>
        <CheckField
          label={t('primary')}
          aria-label={t('isPrimary', { address })}
          checked={row.primary}
          onChange={onPrimary}
        />
        <IconButton icon={Trash2} label={t('remove', { address })} onClick={onRemove} />
      </div>
    </div>
  )
}
