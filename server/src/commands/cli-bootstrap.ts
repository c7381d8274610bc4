import { Command } from 'commander'
import { addressesOf } from './addresses.ts'
import { bootstrap, type BootstrapAnswer } from './bootstrap.ts'
import { howToPush } from './cli-import.ts'
import { commandTokens } from './command-tokens.ts'
import { answer, configuration, tell, withExample } from './command.ts'
import { withRapport } from './open.ts'
import { readPassword } from './password.ts'

interface Options {
  email: string
  organization: string
  password?: string
  passwordStdin?: boolean
  json?: boolean
}

/** `rapport bootstrap`: an organization, its owner and what is needed to call the API. */
export const bootstrapCommand = () =>
  withExample(
    new Command('bootstrap')
      .description(
        'Create an organization with its first user, a session, an API key and an import. The key has every permission except creating API keys and reading the contents of mails.',
      )
      .requiredOption('--email <address>', 'email address of the owner; for an existing user, enter their password')
      .requiredOption('--organization <name>', 'name of the new organization')
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

async function run({ email, organization, password, passwordStdin, json }: Options): Promise<void> {
  const config = configuration()
  const given = await readPassword({ password, passwordStdin })
  const made = await withRapport({ config, purpose: 'rapport bootstrap', log: tell }, async (rapport) => {
    const { database, secret } = rapport
    const tokens = await commandTokens(rapport)
    const addresses = await addressesOf(rapport)
    return bootstrap({ database, secret, tokens, addresses, email, password: given, organization })
  })
  answer(json ? JSON.stringify(made) : describe(made, organization))
}

const describe = (made: BootstrapAnswer, organization: string): string =>
  [
    `${organization} is ready.`,
    '',
    `  API            ${made.baseUrl}`,
    `  organization   ${made.organizationId}`,
    `  team           ${made.teamId}`,
    `  user           ${made.userId}`,
    `  API key        ${made.apiKey}`,
    `  import         ${made.importId}`,
    `  trigger URL    ${made.triggerUrl}`,
    '',
    'The key is shown only once. Try it:',
    `  curl ${made.baseUrl}/contacts -H 'Authorization: Bearer ${made.apiKey}' -H 'Service-Organization-ID: ${made.organizationId}'`,
    '',
    ...howToPush(made.triggerUrl),
  ].join('\n')
