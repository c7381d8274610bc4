import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { CopyRequest } from '../ui/copy-request.tsx'
import { List, PageContent, Panel } from '../ui/page.tsx'
import { ApiKeyPage } from './api-key-form.tsx'
import { ApiKeyRow } from './api-key-row.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { NewApiKey } from './new-api-key.tsx'
import { Paged, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { ApiKey, ApiKeyWithText } from './records.ts'
import { SectionBar } from './section-bar.tsx'

/** The organization's API keys; `?new=true` creates one, `?key=…` changes one. */
export function ApiKeys() {
  const goTo = useGoTo()
  const { new: isNew, key } = useSectionSearch()
  // Only here: a key's value is gone after the page is left or loaded again.
  const [shown, setShown] = useState<ApiKeyWithText>()
  const close = () => goTo('api-keys')
  if (isNew === 'true' || key !== undefined) {
    const onCreated = (created: ApiKeyWithText) => {
      setShown(created)
      close()
    }
    return <ApiKeyPage apiKeyId={key} onCreated={onCreated} onClose={close} />
  }
  return <ApiKeyList shown={shown} onShow={setShown} />
}

const path = '/v5/api-keys'
const activeKeys = { 'filter.revokedAt.equals': 'null' }
const revokedKeys = { 'filter.revokedAt.not': 'null' }

interface ApiKeyListProps {
  shown: ApiKeyWithText | undefined
  onShow(key: ApiKeyWithText | undefined): void
}

function ApiKeyList({ shown, onShow }: ApiKeyListProps) {
  const t = useTranslations('settings.apiKeys')
  const may = useMay()
  const goTo = useGoTo()
  const active = usePages<ApiKey>(path, activeKeys)
  const revoked = usePages<ApiKey>(path, revokedKeys, 10)
  // Not before the list above it, whose keys would push it down.
  const hasRevoked = !active.isPending && (revoked.data?.pages[0]?.records.length ?? 0) > 0
  return (
    <>
      <SectionBar title={t('title')}>
        {may('api-key:create:write') && (
          <Button kind="primary" icon={Plus} onClick={() => goTo('api-keys', { new: 'true' })}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        {shown && <NewApiKey apiKey={shown} onDone={() => onShow(undefined)} />}
        <Panel title={t('active')} description={t('text')} actions={<CopyRequest path={path} query={activeKeys} />}>
          <Paged pages={active} empty={t('empty')}>
            {(keys) => (
              <List label={t('active')}>
                {keys.map((key) => (
                  <ApiKeyRow key={key.id} apiKey={key} onRotated={onShow} />
                ))}
              </List>
            )}
          </Paged>
        </Panel>
        {hasRevoked && (
          <Panel title={t('revokedKeys')} actions={<CopyRequest path={path} query={revokedKeys} />}>
            <Paged pages={revoked} empty={t('empty')}>
              {(keys) => (
                <List label={t('revokedKeys')}>
                  {keys.map((key) => (
                    <ApiKeyRow key={key.id} apiKey={key} onRotated={onShow} />
                  ))}
                </List>
              )}
            </Paged>
          </Panel>
        )}
      </PageContent>
    </>
  )
}
