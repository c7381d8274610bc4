import { Command } from 'commander'
import { cancelDeletion, graceDays, lockDeletion, scheduleDeletion } from '../identity/organizations/deletion-store.ts'
import { isFirst } from '../identity/organizations/store.ts'
import { encodeId } from '../platform/model/ids.ts'
import { configuration, Failure, printMessage, printResult, UsageError, withExample } from './command.ts'
import { assertConfirmed, confirmOption } from './confirm.ts'
import { exportOrganization } from './export-organization.ts'
import { findAnyOrganization } from './find-organization.ts'
import { type Rapport, withRapport } from './open.ts'

/** `rapport organization`: exports and deletes an organization, and undoes the deletion. */
export const organizationCommand = () =>
  withExample(
    new Command('organization')
      .description('Export an organization, delete it, or undo its deletion.')
      .addCommand(exportCommand())
      .addCommand(deleteCommand())
      .addCommand(undeleteCommand()),
    '$ rapport organization export --organization "Your company" your-company.jsonl.gz\n$ rapport organization delete --organization "Your company" --export your-company.jsonl.gz',
  )

const organizationOption = ['--organization <id or name>', 'id, slug or name of the organization'] as const
const jsonOption = ['--json', 'print one JSON object'] as const
const asCommand = { actorKind: 'command', actorId: null } as const

interface Options {
  organization: string
  json?: boolean
}

const exportCommand = () =>
  withExample(
    new Command('export')
      .description('Write everything that an organization has to a new file: one JSON object per line, with gzip.')
      .argument('<file>', 'the file to write, which must not exist')
      .requiredOption(...organizationOption)
      .option(...jsonOption)
      .action((file: string, { organization, json }: Options) =>
        withOrganization('export', { organization, json }, async (rapport, { id }) => {
          const rows = await exportOrganization(rapport.connection, { organizationId: id, file })
          return { result: { file, rows }, message: `${rows} rows were written to ${file}.` }
        }),
      ),
    '$ rapport organization export --organization "Your company" your-company.jsonl.gz',
  )

interface DeleteOptions extends Options {
  /** False with `--no-export`. */
  export?: string | false
  confirm?: string
}

const deleteCommand = () =>
  withExample(
    new Command('delete')
      .description(
        `Delete an organization with everything in it. It refuses access immediately and is deleted after ${graceDays} days; until then, \`rapport organization undelete\` or an owner can undo it.`,
      )
      .requiredOption(...organizationOption)
      .option('--export <file>', 'first write everything to this new file, like `rapport organization export`')
      .option('--no-export', 'delete it without an export')
      .option(...confirmOption('the organization’s name'))
      .option(...jsonOption)
      .action(scheduleOne),
    '$ rapport organization delete --organization "Your company" --export your-company.jsonl.gz --confirm "Your company"',
  )

async function scheduleOne({ organization, export: file, confirm, json }: DeleteOptions): Promise<void> {
  // Commander sets it to true if neither option is given.
  if (typeof file !== 'string' && file !== false) {
    throw new UsageError('Use --export <file> to write an export first, or --no-export to delete without one.')
  }
  await withOrganization('delete', { organization, json }, async ({ connection, database }, { id, name }) => {
    await assertConfirmed(name, confirm)
    if (file !== false) await exportOrganization(connection, { organizationId: id, file })
    const { deletesAt, ownsInstallation } = await database.crossTenantTransaction('manage an account', async (db) => {
      const found = await lockDeletion(db, id)
      if (!found) throw new Failure('The organization has been deleted.')
      const at = found.deletesAt ?? (await scheduleDeletion(db, id, asCommand))
      return { deletesAt: at.toISOString(), ownsInstallation: await isFirst(db, id) }
    })
    if (ownsInstallation) {
      printMessage(
        'Warning: this is the first organization, whose owners see the state of the installation. When it is deleted, the owners of the next organization will.',
      )
    }
    const message = `${name} refuses access from now on, and will be deleted at ${deletesAt}. Undo this until then: rapport organization undelete --organization ${encodeId('org', id)}`
    return { result: { deletesAt, export: file === false ? null : file }, message }
  })
}

const undeleteCommand = () =>
  withExample(
    new Command('undelete')
      .description('Undo the deletion of an organization. Everything in it works as before.')
      .requiredOption(...organizationOption)
      .option(...jsonOption)
      .action((options: Options) =>
        withOrganization('undelete', options, async ({ database }, { id, name }) => {
          await database.crossTenantTransaction('manage an account', async (db) => {
            const found = await lockDeletion(db, id)
            if (!found?.deletesAt) throw new Failure(`${name} is not being deleted.`)
            await cancelDeletion(db, id, asCommand)
          })
          return { result: {}, message: `${name} will not be deleted; everything in it works as before.` }
        }),
      ),
    '$ rapport organization undelete --organization "Your company"',
  )

interface Outcome {
  result: Record<string, unknown>
  message: string
}

async function withOrganization(
  name: 'export' | 'delete' | 'undelete',
  { organization, json }: { organization: string; json?: boolean | undefined },
  work: (rapport: Rapport, found: { id: string; name: string }) => Promise<Outcome>,
): Promise<void> {
  const options = { config: configuration(), purpose: `rapport organization ${name}`, log: printMessage } as const
  const { id, result, message } = await withRapport(options, async (rapport) => {
    const found = await findAnyOrganization(rapport.database, organization)
    return { id: found.id, ...(await work(rapport, found)) }
  })
  printResult(json ? JSON.stringify({ id: encodeId('org', id), ...result }) : message)
}
