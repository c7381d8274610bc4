import { Command } from 'commander'
import { isScopeUsed, routes } from '../app.ts'
import { parseScope } from '../platform/model/scopes.ts'
import { isScoped } from '../platform/http/route.ts'
import { printResult, configuration, printMessage, UsageError, withExample } from './command.ts'
import { createApiKey, type CreatedApiKey } from './create-api-key.ts'
import { withRapport } from './open.ts'

interface Options {
  organization: string
  name: string
  scope: string[]
  expires?: string
  json?: boolean
}

/** `rapport api-key`: API keys for programs. */
export const apiKeyCommand = () =>
  withExample(new Command('api-key').description('Create API keys.').addCommand(createCommand()), example)

const example = '$ rapport api-key create --organization "Your company" --name Reports --scope contact:*:read --json'

const createCommand = () =>
  withExample(
    new Command('create')
      .description('Create an API key on behalf of the organization’s owner.')
      .requiredOption('--organization <id or name>', 'organization the key is for')
      .requiredOption('--name <name>', 'the key’s purpose')
      .requiredOption('--scope <scope...>', 'the key’s scopes, such as contact:list:read, contact:*:write or *:*:read')
      .option('--expires <date>', 'expiry, such as 2027-01-31 or 2027-01-31T12:00:00Z')
      .option('--json', 'print one JSON object')
      .action(run),
    example,
  )

async function run({ organization, name, scope, expires, json }: Options): Promise<void> {
  const expiresAt = parseExpiry(expires)
  scope.forEach(checkScope)
  const options = { config: configuration(), purpose: 'rapport api-key create', log: printMessage } as const
  const created = await withRapport(options, ({ database }) =>
    createApiKey({ database, organization, name, scopes: scope, expiresAt }),
  )
  printResult(json ? JSON.stringify(created) : describe(created))
}

/** A scope that no route requires grants nothing and is most likely a mistake. */
function checkScope(text: string): void {
  const pattern = parseScope(text)
  if (!pattern || isScopeUsed(pattern)) return
  const usedScopes = routes.flatMap((route) => (isScoped(route) ? [route.scope] : []))
  throw new UsageError(
    `--scope: no request needs "${text}". Available scopes:\n  ${[...new Set(usedScopes)].sort().join('\n  ')}`,
  )
}

function parseExpiry(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const isDate = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const date = new Date(text)
  if (!isDate || Number.isNaN(date.getTime())) {
    throw new UsageError(`--expires: "${text}" is not a date such as 2027-01-31 or 2027-01-31T12:00:00Z.`)
  }
  return date
}

const describe = ({ id, organizationId, apiKey, scopes }: CreatedApiKey): string =>
  [
    `API key ${id}`,
    '',
    `  ${apiKey}`,
    '',
    `It is shown only once. Requests also send the header Service-Organization-ID: ${organizationId}. Its scopes:`,
    ...scopes.map((scope) => `  ${scope}`),
  ].join('\n')
