import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { PageContent } from '../ui/page.tsx'
import { ApiKeyPage } from './api-key-form.tsx'
import { ApiKeyRow } from './api-key-row.tsx'
import { ListPanel } from './list-panel.tsx'
import { useGoTo, useSectionSearch } from './location.ts'
import { NewApiKey } from './new-api-key.tsx'
import { recordsOf, usePages } from './paged.tsx'
import { useMay } from '../api/permissions.ts'
import type { ApiKey, ApiKeyWithText } from './records.ts'
import { SectionBar } from './section-bar.tsx'

/** The organization's API keys; `?new=true` creates one, `?key=…` changes one. */
export function ApiKeys() {
  const goTo = useGoTo()
  const { new: isNew, key } = useSectionSearch()
  // In component state only: a key's value is gone when the page is left or reloaded.
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
  const revoked = usePages<ApiKey>(path, revokedKeys, { pageSize: 10 })
  // Not before the list above it, whose keys would push it down.
  const hasRevoked = !active.isPending && recordsOf(revoked).length > 0
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
        <ListPanel
          title={t('active')}
          description={t('text')}
          path={path}
          query={activeKeys}
          pages={active}
          empty={t('empty')}
        >
          {(key) => <ApiKeyRow apiKey={key} onRotated={onShow} />}
        </ListPanel>
        {hasRevoked && (
          <ListPanel title={t('revokedKeys')} path={path} query={revokedKeys} pages={revoked} empty={t('empty')}>
            {(key) => <ApiKeyRow apiKey={key} onRotated={onShow} />}
          </ListPanel>
        )}
      </PageContent>
    </>
  )
}
