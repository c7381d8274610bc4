import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { Button, type ButtonKind } from '../ui/button.tsx'
import { formErrors } from '../ui/form.tsx'
import styles from './access.module.css'
import { hasPasskeys, passkeyError } from './passkeys.ts'

interface PasskeyButtonProps {
  label: string
  kind?: ButtonKind
  /** Fetches the options, asks for the passkey and sends it. */
  run(): Promise<void>
}

/** A button that asks for a passkey, with an error below it. Renders nothing in browsers without passkeys. */
export function PasskeyButton({ label, kind = 'default', run }: PasskeyButtonProps) {
  const t = useTranslations('access.passkeys')
  const common = useTranslations('common')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  if (!hasPasskeys) return null
  const press = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      await run()
    } catch (error) {
      const { fields, summary } = formErrors(passkeyError(error, t), common('unreachable'))
      setProblem(summary ?? Object.values(fields).join(' '))
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className={styles.stack}>
      <Button icon={KeyRound} kind={kind} isWide isBusy={isBusy} onClick={() => void press()}>
        {label}
      </Button>
      {problem !== undefined && (
        <p role="alert" className={styles.error}>
          {problem}
        </p>
      )}
    </div>
  )
}
