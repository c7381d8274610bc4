import { useSuspenseQuery } from '@tanstack/react-query'
import { Building2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api, dataOf } from '../../api/client.ts'
import { readPreference } from '../../preferences/storage.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { connectionIdOf } from '../connection-id.ts'
import { identitiesQuery } from './queries.ts'
import { change, useAct } from './use-act.ts'

/** Log-ins at organizations' identity providers that are linked to this account. */
export function IdentitiesPanel() {
  const t = useTranslations('profile.identities')
  const act = useAct()
  const { data: identities } = useSuspenseQuery(identitiesQuery)
  const [isLinking, setLinking] = useState(false)
  const [removed, setRemoved] = useState<(typeof identities)[number]>()
  const unlink = async () => {
    const params = { path: { identityId: removed?.id ?? '' } }
    await act(() => api.DELETE('/v5/me/identities/{identityId}', { params }), t('unlinked'))
  }
  return (
    <Panel
      title={t('title')}
      description={t('text')}
      actions={<Button onClick={() => setLinking(true)}>{t('link')}</Button>}
    >
      {identities.length > 0 && (
        <List label={t('title')}>
          {identities.map((identity) => (
            <ListRow
              key={identity.id}
              leading={<Building2 size={16} strokeWidth={1.75} aria-hidden />}
              title={identity.connectionName}
              text={identity.email ?? identity.subject}
            >
              <Button onClick={() => setRemoved(identity)}>{t('unlink')}</Button>
            </ListRow>
          ))}
        </List>
      )}
      <Dialog title={t('linkTitle')} description={t('linkText')} isOpen={isLinking} onClose={() => setLinking(false)}>
        <LinkIdentity />
      </Dialog>
      <ConfirmDialog
        title={t('unlinkTitle', { name: removed?.connectionName ?? '' })}
        description={t('unlinkText')}
        action={t('unlink')}
        isOpen={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        onConfirm={unlink}
      />
    </Panel>
  )
}

/** Continues at the provider, which returns to `/account#sso-link=…`. */
function LinkIdentity() {
  const t = useTranslations('access.singleSignOn')
  const begin = async ({ link = '' }: FormValues) => {
    const body = { connectionId: connectionIdOf(link, t('invalid')) }
    const { url } = await change(() => dataOf(api.POST('/v5/me/identities', { body })))
    location.assign(url)
  }
  return (
    <Form submitLabel={t('submit')} onSubmit={begin}>
      {(errorOf) => (
        <TextField
          name="link"
          label={t('link')}
          hint={t('linkHint')}
          error={errorOf('link') ?? errorOf('connectionId')}
          defaultValue={readPreference('single-sign-on')}
          autoCapitalize="none"
        />
      )}
    </Form>
  )
}
