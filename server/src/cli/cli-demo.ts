import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { addressesOf } from './addresses.ts'
import { slugFromName } from './bootstrap.ts'
import { pushInstructions } from './cli-import.ts'
import { commandTokens } from './command-tokens.ts'
import { printResult, configuration, printMessage, UsageError, withExample } from './command.ts'
import { interruptible } from './interruptible.ts'
import type { DemoResult } from './demo/demo.ts'
import { withRapport } from './open.ts'
import { readPassword } from './password.ts'
import { formatCount, startProgress } from './progress.ts'

interface Options {
  contacts: string
  organization: string
  seed: string
  day?: string
  email?: string
  password?: string
  passwordStdin?: boolean
  json?: boolean
}

const maxContacts = 1_000_000

/** `rapport demo`: creates an organization full of fictional people, for trials and measurements. */
export const demoCommand = () =>
  withExample(
    new Command('demo')
      .description(
        'Create an organization full of fictional people, companies, employments, notes and tasks in many languages. The same seed creates the same data. See docs/guides/demo.md.',
      )
      .option('--contacts <number>', `number of contacts, 1 to ${formatCount(maxContacts)}`, '10000')
      .option('--organization <name>', 'name of the new organization', 'Demo')
      .option('--seed <number>', 'seed of the generated data, 0 to 4294967295', '1')
      .option(
        '--day <date>',
        'reference date, such as 2026-11-21; all dates are within the two years before (default: today)',
      )
      .option('--email <address>', "email address of the owner (default: the organization's name at example.com)")
      .option(
        '--password <password>',
        'password of the owner; other users of this machine can see it while the command runs',
      )
      .option('--password-stdin', 'read the password from standard input')
      .option('--json', 'print one JSON object')
      .addHelpText('after', '\nWithout either, the command uses RAPPORT_PASSWORD or generates and prints a password.')
      .action(run),
    '$ rapport demo --contacts 10000 --json',
  )

async function run(options: Options): Promise<void> {
  const { organization, email = defaultEmail(organization), json } = options
  const contacts = wholeNumber('--contacts', options.contacts, { min: 1, max: maxContacts })
  const seed = wholeNumber('--seed', options.seed, { min: 0, max: 2 ** 32 - 1 })
  const day = parseDay(options.day)
  const config = configuration()
  const isPasswordGiven = options.password !== undefined || options.passwordStdin || process.env['RAPPORT_PASSWORD']
  const password = isPasswordGiven ? await readPassword(options) : randomBytes(15).toString('base64url')
  const demo = await interruptible((signal) =>
    withRapport({ config, purpose: 'rapport demo', log: printMessage }, async (rapport) => {
      const { connection, database, secret } = rapport
      const tokens = await commandTokens(rapport)
      const addresses = await addressesOf(rapport)
      // Loaded here: the names in all languages would slow down every other command.
      const { createDemo: makeDemo } = await import('./demo/demo.ts')
      return makeDemo({
        ...{ connection, database, secret, tokens, addresses, organization, email, password, contacts, seed, day },
        signal,
        log: printMessage,
        progress: demoProgress(contacts),
      })
    }),
  )
  const summary = { ...demo, email, password: isPasswordGiven ? undefined : password, seed, day: formatDay(day) }
  printResult(json ? JSON.stringify(toJson(summary)) : describe(summary, organization))
}

const demoProgress = (contacts: number) => {
  const loading = startProgress('Loading', contacts, 'contacts')
  let indexing: ReturnType<typeof startProgress> | undefined
  return {
    loaded: (done: number) => loading.update(done),
    indexed: (done: number, all: number) => {
      indexing ??= startProgress('Indexing', all, 'indexes')
      indexing.update(done)
    },
  }
}

function wholeNumber(option: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`${option}: "${text}" is not a whole number from ${formatCount(min)} to ${formatCount(max)}.`)
}

/** Midnight (UTC) of the day, in milliseconds. */
function parseDay(text = formatDay(Date.now())): number {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  if (formatDay(time) === text && time >= Date.UTC(2000)) return time
  throw new UsageError(`--day: "${text}" is not a day of 2000 or later, such as 2026-11-21.`)
}

const formatDay = (time: number): string => (Number.isNaN(time) ? '' : new Date(time).toISOString().slice(0, 10))

/** An address under a reserved domain: for `Demo`, `demo@example.com`. */
const defaultEmail = (organization: string): string => `${slugFromName(organization).slice(0, 40)}@example.com`

interface DemoSummary extends DemoResult {
  email: string
  /** Undefined if the caller provided it. */
  password: string | undefined
  seed: number
  day: string
}

const toJson = ({ bootstrap, partnerTeamId, counts, seconds, ...others }: DemoSummary) => ({
  ...bootstrap,
  partnerTeamId,
  ...others,
  contacts: counts.contacts,
  companies: counts.companies,
  people: counts.root_contacts,
  employments: counts.employments,
  notes: counts.notes,
  tasks: counts.tasks,
  deals: counts.deals,
  seconds: Math.round(seconds * 1000) / 1000,
})

function describe(
  { bootstrap, counts, seconds, email, password, seed, day }: DemoSummary,
  organization: string,
): string {
  const { baseUrl, organizationId, teamId, apiKey, triggerUrl } = bootstrap
  const rate = formatCount(Math.round(counts.contacts / seconds))
  const rest = `${formatCount(counts.companies)} companies, ${formatCount(counts.employments)} employments, ${formatCount(counts.notes)} notes, ${formatCount(counts.tasks)} tasks, ${formatCount(counts.deals)} deals`
  return [
    `${organization} is ready: ${formatCount(counts.contacts)} contacts, ${rest} in ${seconds.toFixed(1)} s (${rate} contacts/s).`,
    `Seed ${seed}, the two years before ${day}.`,
    '',
    `  API            ${baseUrl}`,
    `  organization   ${organizationId}`,
    `  team           ${teamId}`,
    `  user           ${email}`,
    ...(password === undefined ? [] : [`  password       ${password}`]),
    `  API key        ${apiKey}`,
    `  trigger URL    ${triggerUrl}`,
    '',
    `The key${password === undefined ? ' is' : ' and the password are'} shown only once. Try it:`,
    `  curl '${baseUrl}/contacts?limit=3' -H 'Authorization: Bearer ${apiKey}' -H 'Service-Organization-ID: ${organizationId}'`,
    '',
    ...pushInstructions(triggerUrl),
  ].join('\n')
}
