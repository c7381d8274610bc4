import { expect, test } from 'vitest'
import { type Invoked, invocationOf, withInvocation } from './invocation.ts'

const clone: Invoked = {
  script: '/home/ada/rapport/bin/rapport.js',
  folder: '/home/ada/rapport',
  containerProgram: undefined,
  host: '3f1c',
}

test.each([
  ['in a clone', {}, 'node bin/rapport.js'],
  ['from another folder', { folder: '/tmp' }, 'node /home/ada/rapport/bin/rapport.js'],
  ['in a folder with a space', { script: '/home/a b/bin/rapport.js', folder: '/' }, "node 'home/a b/bin/rapport.js'"],
  ['with npm start', { script: '/home/ada/rapport/scripts/start.mjs' }, 'node bin/rapport.js'],
  ['with npx', { script: '/home/ada/.npm/_npx/1/node_modules/.bin/rapport' }, 'npx rapport'],
  ['with npx in a project', { script: '/srv/crm/node_modules/rapport/bin/rapport.js' }, 'npx rapport'],
  ['installed for the machine', { script: '/usr/local/bin/rapport' }, 'rapport'],
  ['in a container', { containerProgram: 'docker' }, 'docker exec -it 3f1c node bin/rapport.js'],
] as const)('started %s, a printed command works there', (_, invoked, expected) =>
  expect(invocationOf({ ...clone, ...invoked })).toBe(expected),
)

test('commands in messages are replaced, and nothing else', () => {
  const text =
    'Run `rapport migrate` first, or `sudo -u crm DATA_DIR=/x rapport doctor`.\nrapport is here; the rapport backup\n  $ rapport start\n$ DATA_DIR=x rapport start'
  expect(withInvocation(text, 'npx rapport')).toBe(
    'Run `npx rapport migrate` first, or `sudo -u crm DATA_DIR=/x npx rapport doctor`.\nrapport is here; the rapport backup\n  $ npx rapport start\n$ DATA_DIR=x rapport start',
  )
})
