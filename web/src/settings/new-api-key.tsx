import { useEffect, useRef } from 'react'
import { useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { type ResourceSchema, useSchema } from '../api/schema.ts'
import { apiOrigin } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import { Panel } from '../ui/page.tsx'
import { bodyOf } from '../views/changes.ts'
import { fieldProperty } from '../views/columns.tsx'
import { covers, type Scope, useScopes } from '../api/permissions.ts'
import type { ApiKeyWithText } from './records.ts'
import styles from './settings.module.css'

/** The value of a key that was just created or rotated, and a command that uses it. */
export function NewApiKey({ apiKey, onDone }: { apiKey: ApiKeyWithText; onDone(): void }) {
  const t = useTranslations('settings.apiKeys')
  const scopes = useScopes()
  const { id: organizationId } = useOrganization()
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => element.current?.focus(), [apiKey])
  const endpoint = exampleEndpoint(apiKey.scopes, scopes)
  const body = exampleBody(endpoint, useSchema())
  const command = curl(endpoint, body, apiKey.apiKey, organizationId)
  return (
    <div ref={element} tabIndex={-1}>
      <Panel title={t('shownTitle', { name: apiKey.name })} description={t('shownText')}>
        <CopyField label={t('value')} value={apiKey.apiKey} />
        <CopyField label={t('curl')} value={command} />
        <div className={styles.buttons}>
          <Button onClick={onDone}>{t('stored')}</Button>
        </div>
      </Panel>
    </div>
  )
}

/** A request that the key may send: a list if possible, otherwise any path without an id. */
function exampleEndpoint(held: readonly string[], scopes: readonly Scope[]): string {
  const endpoints = scopes
    .filter((scope) => scope.action !== '*' && covers(held, scope))
    .toSorted((one, other) => rank(one) - rank(other))
    .flatMap((scope) => scope.endpoints)
  return endpoints.find((endpoint) => !endpoint.includes('{')) ?? 'GET /v5/me'
}

const rank = ({ action, permission }: Scope): number => (action === 'list' ? 0 : permission === 'read' ? 1 : 2)

/** The smallest record that the endpoint accepts; undefined if it creates none. */
function exampleBody(endpoint: string, schema: readonly ResourceSchema[]): object | undefined {
  const resource = schema.find(({ path }) => endpoint === `POST ${path}`)
  if (!resource) return undefined
  const fields = resource.fields.filter(({ name, required }) => required || name === resource.titleField)
  return bodyOf(fields.map((field) => [fieldProperty(field), field.example ?? 'Example']))
}

function curl(endpoint: string, body: object | undefined, apiKey: string, organizationId: string): string {
  const [method = 'GET', path = ''] = endpoint.split(' ')
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} '${apiOrigin}${path}'`,
    `-H 'Authorization: Bearer ${apiKey}'`,
    `-H 'Service-Organization-ID: ${organizationId}'`,
    ...(body ? [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body)}'`] : []),
  ]
  return lines.join(' \\\n  ')
}
