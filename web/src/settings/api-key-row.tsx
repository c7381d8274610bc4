import { Link } from '@tanstack/react-router'
import { Ban, Ellipsis, Pencil, RotateCw, ScrollText } from 'lucide-react'
import { useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { IconButton } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { ListRow } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { isPast } from './dates.ts'
import { useGoTo } from './location.ts'
import { useMay } from '../api/permissions.ts'
import type { ApiKey, ApiKeyWithText } from './records.ts'
import { RotateForm } from './rotate-form.tsx'
import styles from './settings.module.css'

interface ApiKeyRowProps {
  apiKey: ApiKey
  onRotated(key: ApiKeyWithText): void
}

/** A key: its permissions, its last use, and its actions. */
export function ApiKeyRow({ apiKey, onRotated }: ApiKeyRowProps) {
  const t = useTranslations('settings.apiKeys')
  const may = useMay()
  const isRevoked = apiKey.revokedAt !== null
  const canChange = !isRevoked && may('api-key:update:write')
  return (
    <ListRow
      title={
        <span className={styles.name}>
          {canChange ? (
            <Link
              to="/settings/$section"
              params={{ section: 'api-keys' }}
              search={{ key: apiKey.id }}
              className={`${styles.nameLink} truncate`}
            >
              {apiKey.name}
            </Link>
          ) : (
            <span className="truncate">{apiKey.name}</span>
          )}
          {isRevoked && <Tag tint="red">{t('revoked')}</Tag>}
          {!isRevoked && hasExpired(apiKey) && <Tag tint="orange">{t('expired')}</Tag>}
        </span>
      }
      text={<KeyFacts apiKey={apiKey} />}
    >
      <KeyMenu apiKey={apiKey} canChange={canChange} onRotated={onRotated} />
    </ListRow>
  )
}

const hasExpired = ({ expiresAt }: ApiKey): boolean => expiresAt !== null && isPast(expiresAt)

function KeyFacts({ apiKey: { scopes, lastUsedAt, lastUsedAddress, expiresAt, revokedAt } }: { apiKey: ApiKey }) {
  const t = useTranslations('settings.apiKeys')
  const format = useFormatter()
  const summary = isAll(scopes, 'write') ? t('writesAll') : isAll(scopes, 'read') ? t('readsAll') : undefined
  return (
    <span className={styles.facts}>
      <span>{summary ?? t('scopeCount', { count: scopes.length })}</span>
      {lastUsedAt === null ? (
        <span>{t('neverUsed')}</span>
      ) : (
        <span>
          {t('lastUsed')} <Time value={lastUsedAt} />
          {lastUsedAddress !== null && ` (${lastUsedAddress})`}
        </span>
      )}
      {revokedAt !== null && (
        <span>
          {t('revokedAt')} <Time value={revokedAt} />
        </span>
      )}
      {revokedAt === null && expiresAt !== null && (
        <span>{t('expiresOn', { date: format.dateTime(new Date(expiresAt), { dateStyle: 'medium' }) })}</span>
      )}
    </span>
  )
}

const isAll = (scopes: readonly string[], permission: string): boolean =>
  scopes.includes(`urn:service:*:*:${permission}`)

function KeyMenu({ apiKey, canChange, onRotated }: ApiKeyRowProps & { canChange: boolean }) {
  const t = useTranslations('settings.apiKeys')
  const act = useAct()
  const common = useTranslations('common')
  const goTo = useGoTo()
  const may = useMay()
  const [open, setOpen] = useState<'rotate' | 'revoke'>()
  const close = () => setOpen(undefined)
  const { id, name } = apiKey
  const revoke = () =>
    act(() => send('POST', `/v5/api-keys/${id}/revoke`), {
      refresh: ['api-keys'],
      done: t('revokedNamed', { name }),
    })
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsOf', { name })} />}>
        {canChange && (
          <MenuItem icon={Pencil} onSelect={() => goTo('api-keys', { key: id })}>
            {common('edit')}
          </MenuItem>
        )}
        {canChange && may('api-key:rotate:write') && (
          <MenuItem icon={RotateCw} onSelect={() => setOpen('rotate')}>
            {t('rotate')}
          </MenuItem>
        )}
        <MenuItem icon={ScrollText} onSelect={() => goTo('audit-log', { 'filter.recordId.equals': id })}>
          {t('showEvents')}
        </MenuItem>
        {canChange && may('api-key:revoke:write') && (
          <>
            <MenuSeparator />
            <MenuItem icon={Ban} isDanger onSelect={() => setOpen('revoke')}>
              {t('revoke')}
            </MenuItem>
          </>
        )}
      </Menu>
      <Dialog
        title={t('rotateTitle', { name })}
        description={t('rotateText')}
        isOpen={open === 'rotate'}
        onClose={close}
      >
        <RotateForm<ApiKeyWithText>
          path={`/v5/api-keys/${id}`}
          onCancel={close}
          onDone={(rotated) => {
            close()
            onRotated(rotated)
          }}
        />
      </Dialog>
      <ConfirmDialog
        title={t('revokeConfirm', { name })}
        description={t('revokeText')}
        action={t('revokeAction')}
        isOpen={open === 'revoke'}
        onClose={close}
        onConfirm={revoke}
      />
    </>
  )
}
