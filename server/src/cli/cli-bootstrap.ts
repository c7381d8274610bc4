import { Command } from 'commander'
import { addressesOf } from './addresses.ts'
import { bootstrap, type BootstrapResult } from './bootstrap.ts'
import { pushInstructions } from './cli-import.ts'
import { commandTokens } from './command-tokens.ts'
import { printResult, configuration, printMessage, withExample } from './command.ts'
import { withRapport } from './open.ts'
import { readPassword } from './password.ts'

interface Options {
  email: string
  organization: string
  timeZone: string
  password?: string
  passwordStdin?: boolean
  json?: boolean
}

/** `rapport bootstrap`: creates an organization, its owner and everything needed to call the API. */
export const bootstrapCommand = () =>
  withExample(
    new Command('bootstrap')
      .description(
        'Create an organization with its first user, a session, an API key and an import. The key has every permission except managing API keys, reading the contents of mails and reading the state of the machine.',
      )
      .requiredOption('--email <address>', 'email address of the owner; for an existing user, enter their password')
      .requiredOption('--organization <name>', 'name of the new organization')
      .option('--time-zone <name>', 'time zone of the organization', systemZone)
      .option(
        '--password <password>',
        'password of the owner; other users of this machine can see it while the command runs',
      )
      .option('--password-stdin', 'read the password from standard input')
      .option('--json', 'print one JSON object')
      .addHelpText('after', '\nWithout either, the command uses RAPPORT_PASSWORD or asks on the terminal.')
      .action(run),
    '$ rapport bootstrap --email you@example.com --organization "Your company" --json',
  )

/** The zone of this machine: what people mean by "10 o’clock" until they choose another one. */
const systemZone = Intl.DateTimeFormat().resolvedOptions().timeZone

async function run({ email, organization, timeZone, password, passwordStdin, json }: Options): Promise<void> {
  const config = configuration()
  const ownerPassword = await readPassword({ password, passwordStdin })
  const result = await withRapport({ config, purpose: 'rapport bootstrap', log: printMessage }, async (rapport) => {
    const { database, secret } = rapport
    const tokens = await commandTokens(rapport)
    const addresses = await addressesOf(rapport)
    return bootstrap({ database, secret, tokens, addresses, email, password: ownerPassword, organization, timeZone })
  })
  printResult(json ? JSON.stringify(result) : describe(result, organization))
}

const describe = (result: BootstrapResult, organization: string): string =>
  [
    `${organization} is ready.`,
    '',
    `  API            ${result.baseUrl}`,
    `  organization   ${result.organizationId}`,
    `  team           ${result.teamId}`,
    `  user           ${result.userId}`,
    `  API key        ${result.apiKey}`,
    `  import         ${result.importId}`,
    `  trigger URL    ${result.triggerUrl}`,
    '',
    'The key is shown only once. Try it:',
    `  curl ${result.baseUrl}/contacts -H 'Authorization: Bearer ${result.apiKey}' -H 'Service-Organization-ID: ${result.organizationId}'`,
    '',
    ...pushInstructions(result.triggerUrl),
  ].join('\n')
