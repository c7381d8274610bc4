import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from './processes.ts'
import { type Installation, install, serviceUser } from './installation.ts'
import { root as project } from './walkthrough.ts'

/** The fenced blocks of a guide, with their language. */
const blocksOf = (guide: string) =>
  [...readFileSync(join(project, 'docs/guides', guide), 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ([, language = '', text = '']) => ({ language, text }),
  )
const blocks = [...blocksOf('backup.md'), ...blocksOf('self-hosting.md')]

/** The block of either guide that contains this text. */
function block(part: string): string {
  const found = blocks.find(({ text }) => text.includes(part))
  if (!found) throw new Error(`No block contains ${part}`)
  return found.text
}

/** A shell block without the lines of systemd, which the test does itself. */
const commands = (part: string) =>
  machine
    .adapt(block(part))
    .split('\n')
    .filter((line) => !line.startsWith('systemctl'))
    .join('\n')

let machine: Installation
let stop: () => Promise<void>

beforeAll(async () => {
  machine = await install()
  const created = await machine.run(
    machine.adapt(line('systemd', 'install -d -o rapport -m 700 /var/lib/rapport-data')),
  )
  expect(created).toEqual({ code: 0, output: '', errors: '' })
  stop = await machine.start()
}, 120_000)
afterAll(async () => {
  await stop?.()
  await machine?.remove()
})

/** A line that the guide self-hosting.md contains. */
function line(section: string, text: string): string {
  if (!blocksOf('self-hosting.md').some((found) => found.text.split('\n').includes(text)))
    throw new Error(`${section}: the guide does not contain ${text}`)
  return text
}

const backups = async () =>
  (await readdir(machine.at('/var/backups/rapport'))).filter((name) => /^rapport-.*\.backup$/.test(name)).sort()

/** A backup of 40 days ago, which the nightly job deletes. */
async function addOldBackup(): Promise<string> {
  const name = 'rapport-2020-01-01-0230.backup'
  const file = join(machine.at('/var/backups/rapport'), name)
  await writeFile(file, 'old')
  const old = Date.now() / 1000 - 40 * 24 * 3600
  await utimes(file, old, old)
  return name
}

/** The backups of one minute have one name. */
const clear = async () => {
  for (const name of await backups()) {
    const folder = machine.at('/var/backups/rapport')
    await rename(join(folder, name), join(folder, `${name}.${process.hrtime.bigint()}.earlier`))
  }
}

test.each(['backup.md', 'self-hosting.md'])(
  'the backup of %s works as printed while the service runs',
  async (guide) => {
    const text = blocksOf(guide).find(
      (found) => found.language === 'sh' && found.text.includes(' backup --verify '),
    )?.text
    const { code, output, errors } = await machine.run(machine.adapt(text ?? ''))
    expect({ code, errors }).toEqual({ code: 0, errors: expect.stringMatching(/^Wrote and verified [\d,]+ rows/m) })
    expect(output).toContain(machine.at('/var/backups/rapport/rapport-'))
    expect(await backups()).toHaveLength(1)
    await clear()
  },
)

test('the piped backup of the guide works as printed', async (context) => {
  if (spawnSync('age-keygen', ['--version']).status !== 0) return context.skip('age is not installed')
  const key = spawnSync('age-keygen', { encoding: 'utf8' })
  const recipient = /public key: (\S+)/.exec(key.stdout)?.[1] ?? ''
  const result = await machine.run(commands('backup - | age').replace('<recipient>', recipient))
  expect(result).toMatchObject({ code: 0 })
  const file = machine.at('/var/backups/rapport/rapport.backup.age')
  expect((await readFile(file)).subarray(0, 20).toString()).toContain('age-encryption')
})

/** A file of the guide, by the path in its first line. */
const unit = (name: string) => machine.adapt(block(`# /etc/systemd/system/${name}\n`))

/** The values of a setting in a unit, as systemd reads them: `$$` and `%%` are escapes. */
const settingsOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) =>
    value.replaceAll('$$', '$').replaceAll('%%', '%'),
  )

/** Runs a command of a unit as systemd does. */
const runUnit = (text: string, command: string) =>
  machine.runAsUser(command, {
    folder: settingsOf(text, 'WorkingDirectory')[0] ?? '/',
    environment: Object.fromEntries(
      settingsOf(text, 'Environment').map((value) => value.split('=') as [string, string]),
    ),
  })

test('the units of the guide are valid for systemd', async (context) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return context.skip('systemd is not installed')
  const folder = machine.at('/units')
  await mkdir(folder)
  const names = ['rapport-backup.service', 'rapport-backup.timer', 'rapport-backup-failed.service']
  for (const name of names) await writeFile(join(folder, name), unit(name))
  const result = spawnSync('systemd-analyze', ['verify', '--man=no', ...names.map((name) => join(folder, name))], {
    encoding: 'utf8',
  })
  expect({
    status: result.status,
    problems: result.stderr.split('\n').filter((text) => text.includes(folder)),
  }).toEqual({
    status: 0,
    problems: [],
  })
})

test('the unit of the guide makes a verified backup and deletes the old ones', async () => {
  const text = unit('rapport-backup.service')
  expect(settingsOf(text, 'User')).toEqual([serviceUser])
  const old = await addOldBackup()
  const [start = ''] = settingsOf(text, 'ExecStart')
  const made = await runUnit(text, start)
  expect(made).toMatchObject({ code: 0, errors: expect.stringContaining('Wrote and verified') })
  const [, ...copies] = settingsOf(text, 'ExecStartPost')
  expect(copies).toEqual([])
  expect(await runUnit(text, settingsOf(text, 'ExecStartPost')[0] ?? '')).toMatchObject({ code: 0, errors: '' })
  const left = await backups()
  expect(left).toHaveLength(1)
  expect(left).not.toContain(old)
  await clear()
})

test('a unit whose backup fails keeps the old backups, and starts the unit that reports it', async () => {
  const text = unit('rapport-backup.service').replace(/DATA_DIR=\S+/, `DATA_DIR=${machine.at('/var/lib/nothing')}`)
  const [start = ''] = settingsOf(text, 'ExecStart')
  expect(await runUnit(text, start)).toMatchObject({ code: 1, errors: expect.stringContaining('There is no database') })
  expect(settingsOf(text, 'OnFailure')).toEqual(['rapport-backup-failed.service'])
  const [report = ''] = settingsOf(unit('rapport-backup-failed.service'), 'ExecStart')
  const reported = await machine.run(`${report.replace('logger ', 'logger --stderr --no-act --socket-errors=off ')}`)
  expect(reported).toMatchObject({ code: 0, errors: expect.stringContaining('<8>') })
  expect(reported.errors).toContain('The backup of Rapport failed. See: journalctl -u rapport-backup')
})

/** The user and the command of the guide's crontab. */
function cronJob(): { user: string; command: string } {
  const [, user = '', command = ''] =
    /^30 2 \* \* \* {2}(\S+) {2}(.*)$/m.exec(block('# /etc/cron.d/rapport-backup')) ?? []
  return { user, command: machine.adapt(` ${command.replaceAll(String.raw`\%`, '%')}`) }
}

test('the cron job of the guide backs up silently, deletes old backups, and prints why it fails', async () => {
  const { user, command } = cronJob()
  expect(user).toBe('rapport')
  const old = await addOldBackup()
  expect(await machine.runAsUser(`/bin/sh -c ${quote(command)}`)).toEqual({ code: 0, output: '', errors: '' })
  const left = await backups()
  expect(left).toHaveLength(1)
  expect(left).not.toContain(old)
  const failing = command
    .replaceAll(/DATA_DIR=\S+/g, 'DATA_DIR=/nothing')
    .replace('logger ', 'logger --no-act --socket-errors=off ')
  const failed = await machine.runAsUser(`/bin/sh -c ${quote(failing)}`)
  expect(failed.output).toContain('There is no database in /nothing')
  expect(await backups()).toEqual(left)
  await clear()
})

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

test('both ways to copy backups elsewhere work as printed', async (context) => {
  const name = 'rapport-2026-01-01-0230.backup'
  await writeFile(machine.at(`/var/backups/rapport/${name}`), 'a backup')
  await mkdir(machine.at('/mnt/elsewhere/rapport'), { recursive: true })
  const copy = machine.adapt(block('ExecStartPost=/bin/cp')).trim().replace('ExecStartPost=', '')
  expect(await machine.run(copy)).toMatchObject({ code: 0, errors: '' })
  expect(await readdir(machine.at('/mnt/elsewhere/rapport'))).toContain(name)
  if (spawnSync('rsync', ['--version']).status !== 0) return context.skip('rsync is not installed')
  const [, job = ''] = /^30 3 \* \* \* {2}(.*)$/m.exec(block('rsync -a')) ?? []
  await mkdir(machine.at('/srv/backups'), { recursive: true })
  const local = machine.adapt(` ${job.replace('rapport@crm.example.com:', '')}`)
  expect(await machine.run(local)).toMatchObject({ code: 0, errors: '' })
  expect(await readdir(machine.at('/srv/backups/rapport'))).toContain(name)
})

test('the restore and the drill of the guide work as printed, and doctor is satisfied with the backup', async () => {
  await clear()
  expect(await machine.run(commands(' backup --verify '))).toMatchObject({ code: 0 })
  const [latest = ''] = await backups()
  const examined = await machine.run(commands('node bin/rapport.js doctor'))
  expect(examined.output).toMatch(/^ok {5}backup: the latest is of /m)

  const named = (part: string) => commands(part).replaceAll('rapport-2027-01-31-0230.backup', latest)
  const drill = named('/var/backups/rapport/drill').split('\n')
  const start = drill.findIndex((text) => text.includes(' start'))
  expect(await machine.run(drill.slice(0, start).join('\n'))).toMatchObject({ code: 0 })
  const url = `http://127.0.0.1:${/PORT=(\d+)/.exec(drill[start] ?? '')?.[1]}`
  const folder = machine.at('/var/backups/rapport/drill')
  const drilled = machine.run(`cd ${machine.at('/opt/rapport')}\nexec ${drill[start]}`)
  await until(
    'the drill is ready',
    async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200,
    60_000,
  )
  // Written as soon as the service listens, which is a moment after it can answer.
  await until('the drill has written service.json', () => existsSync(join(folder, 'service.json')))
  const { pid } = JSON.parse(await readFile(join(folder, 'service.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGINT')
  expect(await drilled).toMatchObject({ code: 0 })

  await stop()
  const restored = await machine.run(named('systemctl stop rapport').replace('restore ', 'restore --force '))
  expect(restored).toMatchObject({ code: 0, output: expect.stringContaining('compared them with the backup') })
  stop = await machine.start()
  expect(existsSync(machine.at('/var/lib/rapport-data/secret'))).toBe(true)
}, 120_000)

test.runIf(process.getuid?.() === 0)(
  'doctor and backup advise root to run them as the owner of the data, and the advice works while the service keeps running',
  async () => {
    const asRoot = `cd ${machine.at('/opt/rapport')}; DATA_DIR=${machine.at('/var/lib/rapport-data')} node bin/rapport.js`
    for (const command of ['doctor', `backup ${machine.at('/var/backups/rapport.backup')}`]) {
      const { output, errors } = await machine.run(`${asRoot} ${command} || true`)
      const said = output + errors
      expect(said).not.toContain('chown')
      const advice = /`(sudo -u daemon DATA_DIR=\S+ node bin\/rapport\.js (\w+))`/.exec(said)
      expect(advice?.[2], said).toBe(command.split(' ')[0])
      const followed = await machine.run(
        `cd ${machine.at('/opt/rapport')}; ${advice?.[1]} ${command.split(' ')[1] ? machine.at('/var/backups/rapport/followed') : ''} || true`,
      )
      expect(followed.output).toMatch(command === 'doctor' ? /^ok {5}service: .* is ready$/m : /followed$/m)
    }
  },
)
