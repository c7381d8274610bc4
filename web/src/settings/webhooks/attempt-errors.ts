import { useTranslations } from 'use-intl'

/** The service's reasons why an attempt failed, and the catalogue's text for each. */
const known = [
  [/^the receiver answered with status (?<status>\d+)$/, 'status'],
  [/^the host is unknown or not allowed/, 'host'],
  [/^the connection would not be encrypted/, 'plaintext'],
  [/^the connection failed$/, 'unreachable'],
  [/^the connection, which was kept open/, 'closed'],
  [/^its TLS certificate/, 'certificate'],
  [/^it did not respond in time$/, 'slow'],
  [/^its response (?:is too large|cannot be read)$/, 'response'],
  [/^the webhook has no secret/, 'secret'],
  [/^the event is no longer stored$/, 'expired'],
] as const

/** Why an attempt failed and what to do, as sentences in the page's language; unknown reasons are returned unchanged. */
export function useAttemptError(): (error: string) => string {
  const t = useTranslations('settings.webhooks')
  return (error) => {
    for (const [form, key] of known) {
      const match = form.exec(error)
      if (match) return t(`errors.${key}`, { status: match.groups?.status ?? '' })
    }
    return error
  }
}
