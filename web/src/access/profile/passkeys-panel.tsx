import { KeyRound, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api, dataOf } from '../../api/client.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { List, ListRow, Panel } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { createPasskey, hasPasskeys, passkeyError } from '../passkeys.ts'
import { type RecoveryCodes, useFactors } from './queries.ts'
import { RecoveryCodesDialog } from './recovery-codes.tsx'
import { change, useAct } from './use-act.ts'

type Passkey = ReturnType<typeof useFactors>['passkeys'][number]

export function PasskeysPanel() {
  const t = useTranslations('profile.passkeys')
  const common = useTranslations('common')
  const act = useAct()
  const { passkeys } = useFactors()
  const [isAdding, setAdding] = useState(false)
  const [codes, setCodes] = useState<RecoveryCodes>(null)
  const [renamed, setRenamed] = useState<Passkey>()
  const [removed, setRemoved] = useState<Passkey>()
  const remove = async ({ id: passkeyId }: Passkey) =>
    act(() => api.DELETE('/v5/me/passkeys/{passkeyId}', { params: { path: { passkeyId } } }), t('removed'))
  return (
    <Panel
      title={t('title')}
      description={t(hasPasskeys ? 'text' : 'unsupported')}
      actions={hasPasskeys && <Button onClick={() => setAdding(true)}>{t('add')}</Button>}
    >
      {passkeys.length > 0 && (
        <List label={t('title')}>
          {passkeys.map((passkey) => (
            <PasskeyRow
              key={passkey.id}
              passkey={passkey}
              onRename={() => setRenamed(passkey)}
              onRemove={() => setRemoved(passkey)}
            />
          ))}
        </List>
      )}
      <Dialog title={t('addTitle')} description={t('addText')} isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddPasskey
          onDone={(recoveryCodes) => {
            setAdding(false)
            setCodes(recoveryCodes)
          }}
        />
      </Dialog>
      <Dialog title={t('renameTitle')} isOpen={renamed !== undefined} onClose={() => setRenamed(undefined)}>
        {renamed && <RenamePasskey passkey={renamed} onDone={() => setRenamed(undefined)} />}
      </Dialog>
      <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />
      <ConfirmDialog
        title={t('removeTitle', { name: removed?.name ?? '' })}
        description={t('removeText')}
        action={common('remove')}
        isOpen={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        onConfirm={async () => removed && remove(removed)}
      />
    </Panel>
  )
}

interface PasskeyRowProps {
  passkey: Passkey
  onRename(): void
  onRemove(): void
}

function PasskeyRow({ passkey: { name, createdAt, lastUsedAt }, onRename, onRemove }: PasskeyRowProps) {
  const t = useTranslations('profile.passkeys')
  return (
    <ListRow
      leading={<KeyRound size={16} strokeWidth={1.75} aria-hidden />}
      title={name}
      text={
        <>
          {t(lastUsedAt === null ? 'created' : 'lastUsed')} <Time value={lastUsedAt ?? createdAt} />
        </>
      }
    >
      <IconButton icon={Pencil} label={t('renameNamed', { name })} onClick={onRename} />
      <IconButton icon={Trash2} label={t('removeNamed', { name })} onClick={onRemove} />
    </ListRow>
  )
}

function AddPasskey({ onDone }: { onDone(codes: RecoveryCodes): void }) {
  const t = useTranslations('profile.passkeys')
  const problems = useTranslations('access.passkeys')
  const add = async ({ name = '' }: FormValues) => {
    const options = await change(() => dataOf(api.POST('/v5/me/passkeys/options')))
    const credential = await createPasskey(options as unknown as PublicKeyCredentialCreationOptionsJSON).catch(
      (error: unknown) => {
        throw passkeyError(error, problems)
      },
    )
    const body = { name, credential }
    onDone((await change(() => dataOf(api.POST('/v5/me/passkeys', { body })))).recoveryCodes)
  }
  return (
    <Form draft="new passkey" submitLabel={t('add')} onSubmit={add}>
      {(errorOf) => <TextField name="name" label={t('name')} hint={t('nameHint')} error={errorOf('name')} />}
    </Form>
  )
}

function RenamePasskey({ passkey: { id: passkeyId, name }, onDone }: { passkey: Passkey; onDone(): void }) {
  const t = useTranslations('profile.passkeys')
  const common = useTranslations('common')
  const rename = async (values: FormValues) => {
    const params = { path: { passkeyId } }
    await change(() => api.PATCH('/v5/me/passkeys/{passkeyId}', { params, body: { name: values.name ?? '' } }))
    onDone()
  }
  return (
    <Form draft="passkey name" submitLabel={common('save')} onSubmit={rename}>
      {(errorOf) => <TextField name="name" label={t('name')} defaultValue={name} error={errorOf('name')} />}
    </Form>
  )
}
