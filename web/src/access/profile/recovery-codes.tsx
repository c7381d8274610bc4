import { Download } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api, dataOf } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { CopyField } from '../../ui/copy-field.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx'
import { Panel } from '../../ui/page.tsx'
import { type RecoveryCodes, useFactors } from './queries.ts'
import { useAct } from './use-act.ts'

export function RecoveryCodesPanel() {
  const t = useTranslations('profile.recoveryCodes')
  const act = useAct()
  const { totp, passkeys, recoveryCodes } = useFactors()
  const [isAsking, setAsking] = useState(false)
  const [codes, setCodes] = useState<RecoveryCodes>(null)
  if (totp === null && passkeys.length === 0) return null
  const replace = () => act(async () => setCodes((await dataOf(api.POST('/v5/me/recovery-codes'))).recoveryCodes))
  return (
    <Panel
      title={t('title')}
      description={t('remaining', { count: recoveryCodes.remaining })}
      actions={<Button onClick={() => setAsking(true)}>{t('replace')}</Button>}
    >
      <ConfirmDialog
        title={t('replaceTitle')}
        description={t('replaceText')}
        action={t('replace')}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={replace}
      />
      <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />
    </Panel>
  )
}

/** The codes, which are shown only now, to copy or download. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: RecoveryCodes; onClose(): void }) {
  const t = useTranslations('profile.recoveryCodes')
  const common = useTranslations('common')
  const text = (codes ?? []).join('\n')
  return (
    <Dialog title={t('storeTitle')} description={t('storeText')} isOpen={codes !== null} onClose={onClose}>
      <CopyField label={t('title')} value={text} />
      <DialogActions>
        <Button icon={Download} onClick={() => download(`${t('fileHead')}\n\n${text}\n`)}>
          {t('download')}
        </Button>
        <Button kind="primary" onClick={onClose}>
          {common('done')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: 'rapport-recovery-codes.txt' })
  link.click()
  URL.revokeObjectURL(url)
}
