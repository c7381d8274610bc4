import { Code } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { Json } from '../api/filter-tree.ts'
import { useOrganization } from '../api/me.ts'
import { apiOrigin } from '../api/session.ts'
import { IconButton } from './button.tsx'
import { MenuItem } from './menu.tsx'
import { notify } from './toast.tsx'

/** A request of the application: a path of the API and its parameters. */
interface CopiedRequest {
  path: string
  query?: Readonly<Record<string, string>> | URLSearchParams
  /** The body; sent by POST. */
  body?: Json
}

/** Copies a request as a curl command with a placeholder for the API key. */
function useCopyRequest({ path, query, body }: CopiedRequest): () => void {
  const t = useTranslations('common')
  const organization = useOrganization()
  return async () => {
    // The encoded URL contains no quotes that could end the shell's string.
    const parameters = new URLSearchParams(query)
    const url = `${apiOrigin}${path}${parameters.size > 0 ? `?${parameters}` : ''}`
    const headers = `-H 'Authorization: Bearer <API_KEY>' -H 'Service-Organization-ID: ${organization.id}'`
    const sent = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
    await navigator.clipboard.writeText(`curl '${url}' ${headers}${sent}`)
    notify(t('requestCopied'))
  }
}

/** Quotes a text as one shell word. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The button for the bar or the panel of a list. */
export function CopyRequest(request: CopiedRequest) {
  const t = useTranslations('common')
  return <IconButton icon={Code} label={t('copyRequest')} onClick={useCopyRequest(request)} />
}

/** The menu item. */
export function CopyRequestItem(request: CopiedRequest) {
  const t = useTranslations('common')
  return (
    <MenuItem icon={Code} onSelect={useCopyRequest(request)}>
      {t('copyRequest')}
    </MenuItem>
  )
}
