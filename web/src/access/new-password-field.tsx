import { type FocusEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import { PasswordField } from '../ui/password-field.tsx'

interface NewPasswordFieldProps {
  name: string
  label: string
  error: string | undefined
  /** The account's email address, if the form has no field for it. */
  email?: string | undefined
  /** Names that the password must not contain, in addition to those in the form. */
  names?: readonly string[]
}

/** A new password, checked against the service's rules on blur. */
export function NewPasswordField({ name, label, error, email, names: more = [] }: NewPasswordFieldProps) {
  const t = useTranslations('access')
  const [weakness, setWeakness] = useState<string>()
  const check = async ({ currentTarget: input }: FocusEvent<HTMLInputElement>) => {
    const password = input.value
    if (password === '' || !input.form) return
    const form = new FormData(input.form)
    const names = [form.get('name'), form.get('organization'), ...more].filter(
      (one) => typeof one === 'string' && one !== '',
    )
    const address = email ?? form.get('email')
    const isAddress = typeof address === 'string' && /^\S+@\S+$/.test(address)
    const body = { password, names, ...(isAddress && { email: address }) }
    // Other errors, such as an invalid address, appear when the form is sent.
    const checked = await sendPublic<{ fault: string | null }>('/auth/passwords/check', body).catch(() => undefined)
    if (input.value === password) setWeakness(checked?.fault ?? undefined)
  }
  return (
    <PasswordField
      name={name}
      label={label}
      hint={t('passwordHint')}
      error={error ?? weakness}
      autoComplete="new-password"
      onBlur={(event) => void check(event)}
      onInput={() => setWeakness(undefined)}
    />
  )
}
