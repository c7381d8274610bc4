import { Command, Option } from 'commander'
import type { Row } from '../platform/records/declare/define.ts'
import { type imports, mergePolicies, type RowStatus } from '../intake/imports/resource.ts'
import { addressesOf } from './addresses.ts'
import { printResult, configuration, printMessage, UsageError, withExample } from './command.ts'
import {
  listImports,
  type CreatedImport,
  addImport,
  removeAllReceived,
  rotateImport,
  type RotatedImport,
  setImportDisabled,
} from './imports.ts'
import { assertConfirmed, confirmOption } from './confirm.ts'
import { withRapport } from './open.ts'

/** `rapport import`: sources of leads, each with a secret URL that other systems push to. */
export const importCommand = () =>
  withExample(
    new Command('import')
      .description('Create, rotate, disable, enable and list imports: sources of leads, each with a secret URL.')
      .addCommand(createCommand())
      .addCommand(rotateCommand())
      .addCommand(switchCommand('disable'))
      .addCommand(switchCommand('enable'))
      .addCommand(removeReceivedCommand())
      .addCommand(listCommand()),
    '$ rapport import create --organization "Your company" --name "Landing page"\n$ rapport import list --organization "Your company"',
  )

const organizationOption = ['--organization <id or name>', 'organization that the import belongs to'] as const
const jsonOption = ['--json', 'print one JSON object'] as const

interface CreateOptions {
  organization: string
  name: string
  team?: string
  tag?: string[]
  merge?: string
  json?: boolean
}

const createCommand = () =>
  withExample(
    new Command('create')
      .description('Create an import and print its trigger URL, which is shown only once.')
      .requiredOption(...organizationOption)
      .requiredOption('--name <name>', 'name of the source')
      .option('--team <id or name>', 'team whose contacts are matched and created (default: the default team)')
      .option('--tag <tag...>', 'tags added to each contact that is matched or created')
      .addOption(
        new Option('--merge <policy>', 'set only fields that are empty, or replace what no person has changed')
          .choices(mergePolicies)
          .default('fill'),
      )
      .option(...jsonOption)
      .action(create),
    '$ rapport import create --organization "Your company" --name "Landing page" --tag web --json',
  )

async function create({ organization, name, team, tag, merge, json }: CreateOptions): Promise<void> {
  const config = configuration()
  const options = { config, purpose: 'rapport import create', log: printMessage } as const
  const created = await withRapport(options, async (rapport) => {
    const { baseUrl } = await addressesOf(rapport)
    return addImport(
      { database: rapport.database, organization },
      { baseUrl, name, team, tags: tag, mergePolicy: merge },
    )
  })
  printResult(json ? JSON.stringify(created) : describeCreated(created))
}

const describeCreated = ({ id, triggerUrl }: CreatedImport): string =>
  [`Import ${id}`, '', `  ${triggerUrl}`, '', ...pushInstructions(triggerUrl)].join('\n')

export const pushInstructions = (triggerUrl: string): string[] => [
  'Anyone who knows this URL can push leads. It is shown only once. Try it:',
  `  curl ${triggerUrl} -H 'Content-Type: application/json' -d '{"contact":{"email":"lead@example.com"}}'`,
]

interface RotateOptions {
  organization: string
  import: string
  overlap?: string
  json?: boolean
}

const rotateCommand = () =>
  withExample(
    new Command('rotate')
      .description('Replace the trigger URL of an import. The previous one stays valid for the overlap.')
      .requiredOption(...organizationOption)
      .requiredOption('--import <id or name>', 'import whose URL is replaced')
      .option('--overlap <seconds>', 'how long the previous URL stays valid, 0 to 2592000 (default: a day)')
      .option(...jsonOption)
      .action(rotate),
    '$ rapport import rotate --organization "Your company" --import "Landing page" --overlap 3600 --json',
  )

async function rotate({ organization, import: nameOrId, overlap, json }: RotateOptions): Promise<void> {
  if (overlap !== undefined && !/^\d{1,10}$/.test(overlap)) {
    throw new UsageError(`--overlap: expected a number of seconds, such as 3600; found "${overlap}".`)
  }
  const overlapSeconds = overlap === undefined ? undefined : Number(overlap)
  const config = configuration()
  const options = { config, purpose: 'rapport import rotate', log: printMessage } as const
  const rotated = await withRapport(options, async (rapport) => {
    const { baseUrl } = await addressesOf(rapport)
    return rotateImport({ database: rapport.database, organization }, { baseUrl, nameOrId, overlapSeconds })
  })
  printResult(json ? JSON.stringify(rotated) : describeRotated(rotated))
}

const describeRotated = ({ id, triggerUrl, previousUrlExpiresAt }: RotatedImport): string =>
  [
    `Import ${id}`,
    '',
    `  ${triggerUrl}`,
    '',
    'It is shown only once.',
    previousUrlExpiresAt === null
      ? 'All previous URLs have been revoked.'
      : `The previous URL is valid until ${previousUrlExpiresAt}.`,
  ].join('\n')

interface SwitchOptions {
  organization: string
  import: string
  json?: boolean
}

const switchCommand = (name: 'disable' | 'enable') =>
  withExample(
    new Command(name)
      .description(
        name === 'disable'
          ? 'Disable an import: its trigger URLs return 404 from now on. Earlier pushes are still processed.'
          : 'Enable a disabled import, so that its trigger URLs work again.',
      )
      .requiredOption(...organizationOption)
      .requiredOption('--import <id or name>', `import to ${name}`)
      .option(...jsonOption)
      .action(async ({ organization, import: nameOrId, json }: SwitchOptions) => {
        const options = { config: configuration(), purpose: `rapport import ${name}`, log: printMessage } as const
        const { id, isChanged } = await withRapport(options, ({ database }) =>
          setImportDisabled({ database, organization }, { nameOrId, isDisabled: name === 'disable' }),
        )
        if (json) printResult(JSON.stringify({ id, isChanged }))
        else printResult(`Import ${id} ${isChanged ? 'is now' : 'was already'} ${name}d.`)
      }),
    `$ rapport import ${name} --organization "Your company" --import "Landing page"`,
  )

interface RemovalOptions extends SwitchOptions {
  dryRun?: boolean
  confirm?: string
}

const removeReceivedCommand = () =>
  withExample(
    new Command('remove-received')
      .description(
        'Remove what a disabled import received: its rows, and the contacts, companies and notes that it created and nobody else has changed or uses.',
      )
      .requiredOption(...organizationOption)
      .requiredOption('--import <id or name>', 'import whose rows and records are removed')
      .option('--dry-run', 'only count them')
      .option(...confirmOption('the import’s id or name as in --import'))
      .option(...jsonOption)
      .action(async ({ organization, import: nameOrId, dryRun = false, confirm, json }: RemovalOptions) => {
        const options = {
          config: configuration(),
          purpose: 'rapport import remove-received',
          log: printMessage,
        } as const
        if (!dryRun) await assertConfirmed(nameOrId, confirm)
        const { id, ...counts } = await withRapport(options, ({ database }) =>
          removeAllReceived({ database, organization }, { nameOrId, dryRun }),
        )
        if (json) return printResult(JSON.stringify({ id, dryRun, ...counts }))
        const { rows, contacts, companies, notes, kept, remaining, hasMore } = counts
        const verb = dryRun ? 'would be removed' : 'were removed'
        const rest = remaining === 0 ? '' : ` ${remaining} rows are left; run the command again.`
        const more = hasMore
          ? ' It received more than 10,000 rows or contacts; only the first 10,000 were counted.'
          : ''
        printResult(
          `${rows} rows, ${contacts} contacts, ${companies} companies and ${notes} notes of import ${id} ${verb}; ${kept} records are kept.${rest}${more}`,
        )
      }),
    '$ rapport import remove-received --organization "Your company" --import "Landing page" --dry-run',
  )

interface ListOptions {
  organization: string
  json?: boolean
}

const listCommand = () =>
  withExample(
    new Command('list')
      .description('List the imports of an organization and the state of their rows.')
      .requiredOption('--organization <id or name>', 'organization whose imports are listed')
      .option('--json', 'print one JSON array, like GET /v5/imports')
      .action(list),
    '$ rapport import list --organization "Your company"',
  )

async function list({ organization, json }: ListOptions): Promise<void> {
  const options = { config: configuration(), purpose: 'rapport import list', log: printMessage } as const
  const found = await withRapport(options, ({ database }) => listImports({ database, organization }))
  if (json) printResult(JSON.stringify(found))
  else printResult(found.length === 0 ? 'There are no imports yet.' : table([headings, ...found.map(cellsOf)]))
}

type Import = Row<typeof imports>

const headings = ['ID', 'NAME', 'STATE', 'WAITING', 'PROCESSED', 'FAILED', 'OLDEST WAITING SINCE']

const statusGroups = {
  waiting: ['PENDING', 'PROCESSING', 'RETRYING'],
  processed: ['PROCESSED', 'PARTIAL', 'DUPLICATE'],
  failed: ['INVALID', 'CONFLICT', 'DEAD'],
} satisfies Record<string, readonly RowStatus[]>

function cellsOf({ id, name, disabledAt, stats }: Import): string[] {
  const counts = stats.counts as Record<RowStatus, number>
  const sum = (statuses: readonly RowStatus[]) => String(statuses.reduce((total, status) => total + counts[status], 0))
  const state = disabledAt === null ? 'enabled' : 'disabled'
  const oldest = typeof stats.oldestPendingAt === 'string' ? stats.oldestPendingAt : '–'
  return [id, name, state, sum(statusGroups.waiting), sum(statusGroups.processed), sum(statusGroups.failed), oldest]
}

/** Aligned columns, separated by two spaces. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
