import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button, IconButton } from '../../ui/button.tsx'
import { FieldGroup, TextField } from '../../ui/field.tsx'
import { PasswordField } from '../../ui/password-field.tsx'
import styles from './webhooks.module.css'

interface Header {
  name: string
  value: string
}

/** The headers of a form. In component state only, because their values are secrets, which no draft may contain. */
export function useHeaders(storedNames: readonly string[]) {
  const [rows, setRows] = useState<readonly Header[]>()
  const given = rows?.filter(({ name, value }) => name.trim() !== '' || value !== '')
  return {
    storedNames,
    /** Undefined if the stored headers stay. */
    rows,
    setRows,
    /** What is sent: undefined leaves the stored headers as they are. */
    sent: given && Object.fromEntries(given.map(({ name, value }) => [name.trim(), value])),
  }
}

interface HeaderFieldsProps {
  headers: ReturnType<typeof useHeaders>
  error: string | undefined
}

const noHeader: Header = { name: '', value: '' }

/** Names and values of additional headers. Stored values are never shown; they are replaced together. */
export function HeaderFields({ headers: { storedNames, rows, setRows }, error }: HeaderFieldsProps) {
  const t = useTranslations('settings.webhooks')
  const isStored = rows === undefined && storedNames.length > 0
  const shown = rows ?? []
  const change = (index: number, header: Partial<Header>) =>
    setRows(shown.map((row, at) => (at === index ? { ...row, ...header } : row)))
  return (
    <FieldGroup label={t('headers')} hint={t('headersHint')} error={error} isOptional>
      {isStored && <p>{t('headersStored', { names: storedNames.join(', ') })}</p>}
      {rows !== undefined && storedNames.length > 0 && <p role="status">{t('headersReplaced')}</p>}
      {shown.map((row, index) => (
        <div key={index} className={styles.header} role="group" aria-label={t('header', { number: index + 1 })}>
          <TextField
            label={t('headerName')}
            value={row.name}
            placeholder="authorization"
            autoComplete="off"
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <PasswordField
            label={t('headerValue')}
            value={row.value}
            autoComplete="off"
            onChange={(event) => change(index, { value: event.target.value })}
          />
          <IconButton
            icon={Trash2}
            label={t('removeHeader', { number: index + 1 })}
            onClick={() => setRows(shown.toSpliced(index, 1))}
          />
        </div>
      ))}
      <span>
        <Button kind="quiet" icon={Plus} onClick={() => setRows([...shown, noHeader])}>
          {t(isStored ? 'replaceHeaders' : 'addHeader')}
        </Button>
      </span>
    </FieldGroup>
  )
}
