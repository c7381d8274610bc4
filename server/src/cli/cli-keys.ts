import { Command } from 'commander'
import { findSigningKeys, type StoredSigningKey } from '../identity/access/signing-key-store.ts'
import { rotateSigningKeys } from '../identity/access/signing-keys.ts'
import { printResult, configuration, Failure, printMessage, withExample } from './command.ts'
import { withRapport } from './open.ts'

interface Options {
  json?: boolean
}

const jsonOption = ['--json', 'print one JSON object'] as const

/** `rapport keys`: the keys that sign access tokens. */
export const keysCommand = () =>
  withExample(
    new Command('keys')
      .description('Rotate and list the keys that sign access tokens.')
      .addCommand(rotateCommand())
      .addCommand(listCommand()),
    '$ rapport keys rotate\n$ rapport keys list --json',
  )

const rotateCommand = () =>
  withExample(
    new Command('rotate')
      .description('Start signing with the next key. Nobody is logged out: tokens of the previous key stay valid.')
      .option(...jsonOption)
      .action(rotate),
    '$ rapport keys rotate',
  )

async function rotate({ json }: Options): Promise<void> {
  const options = { config: configuration(), purpose: 'rapport keys rotate', log: printMessage } as const
  const rotation = await withRapport(options, ({ database, secret }) => rotateSigningKeys({ database, secret }))
  if (!rotation.rotated) {
    throw new Failure(
      'Not rotated: programs that cache the key set may not know the next key yet. ' +
        `Rotate again after ${rotation.possibleAt.toISOString()}.`,
    )
  }
  const { active, retired } = rotation
  printResult(
    json
      ? JSON.stringify({ active, retired })
      : `${active} is now the signing key (running services notice within a minute).\n` +
          `${retired} is retired; tokens that it signed stay valid until they expire.`,
  )
}

const listCommand = () =>
  withExample(
    new Command('list')
      .description('List the signing keys: active, next and retired.')
      .option(...jsonOption)
      .action(list),
    '$ rapport keys list',
  )

async function list({ json }: Options): Promise<void> {
  const options = { config: configuration(), purpose: 'rapport keys list', log: printMessage } as const
  const keys = (await withRapport(options, ({ database }) => findSigningKeys(database))).map(keyDetails)
  if (json) printResult(JSON.stringify({ keys }))
  else
    printResult(keys.length === 0 ? 'There are no keys yet. The service creates them.' : keys.map(describe).join('\n'))
}

const keyDetails = ({ id, status, createdAt, activeSince, retiredAt }: StoredSigningKey) => ({
  id,
  status,
  createdAt,
  activeSince,
  retiredAt,
})

function describe({ id, status, createdAt, activeSince, retiredAt }: ReturnType<typeof keyDetails>): string {
  if (status === 'next') return `${id}  next      since ${createdAt.toISOString()}`
  if (status === 'active') return `${id}  active    since ${(activeSince ?? createdAt).toISOString()}`
  return `${id}  retired   since ${retiredAt?.toISOString() ?? ''}`
}
