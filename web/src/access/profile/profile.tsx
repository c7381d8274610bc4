import { useTranslations } from 'use-intl'
import { LaterMessages } from '../../messages/later-messages.tsx'
import { PageBar, PageContent } from '../../ui/page.tsx'
import { AuthenticatorPanel } from './authenticator.tsx'
import { IdentitiesPanel } from './identities.tsx'
import { AddressPanel, NamePanel, TimeZonePanel } from './personal.tsx'
import { PasskeysPanel } from './passkeys-panel.tsx'
import { PasswordPanel } from './password.tsx'
import { PreferencesPanel } from './preferences.tsx'
import { RecoveryCodesPanel } from './recovery-codes.tsx'
import { SessionsPanel } from './sessions.tsx'

/** The person's own account: who they are, how they log in, and where they are logged in. */
export function Profile() {
  return (
    <LaterMessages>
      <Panels />
    </LaterMessages>
  )
}

function Panels() {
  const t = useTranslations('profile')
  return (
    <>
      <PageBar title={t('title')} />
      <PageContent isNarrow>
        <NamePanel />
        <AddressPanel />
        <TimeZonePanel />
        <PreferencesPanel />
        <PasswordPanel />
        <AuthenticatorPanel />
        <PasskeysPanel />
        <RecoveryCodesPanel />
        <IdentitiesPanel />
        <SessionsPanel />
      </PageContent>
    </>
  )
}
