import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { HttpResponse } from './connection.ts'
import { readContract } from './document.ts'
import { copyOfDraft, type Draft } from './draft.ts'
import { changedTables, problemsInLog } from './guard.ts'
import { piecesOf } from './json.ts'
import { Rules } from './rules.ts'
import { mayAffectSession } from './person.ts'
import type { Report } from './report.ts'
import { undrawable } from './undrawable.ts'
import { commandOf, minimize } from './violations.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const script = join(root, 'scripts/fuzz.mjs')
const contract = readContract(root)
const foreignId = 'a'.repeat(32)
const rules = new Rules(contract, { ids: new Set([foreignId]), mark: 'Zwetschgenmus' }, false)

function draftOf(name: string, more: Partial<Draft> = {}): Draft {
  const operation = contract.operations.find((one) => one.name === name)
  if (!operation) throw new Error(name)
  const { method, path } = operation
  const base = { number: 0, operation, method, path, query: [], headers: [], body: undefined }
  return { ...base, framing: 'none', version: 'HTTP/1.1', lineEnd: '\r\n', changes: [], ...more }
}

function responseOf(status: number, body: unknown, more: Record<string, string> = {}): HttpResponse {
  const headers = {
    version: contract.version,
    'x-request-id': `req_${'0'.repeat(32)}`,
    'content-type': 'application/json; charset=utf-8',
    ...more,
  }
  const text = body === undefined ? '' : JSON.stringify(body)
  return { status, head: JSON.stringify(headers), headers: new Map(Object.entries(headers)), text, milliseconds: 1 }
}

const brokenRules = (draft: Draft, response: HttpResponse) => rules.violationsOf(draft, response).map(({ law }) => law)
const notFound = { code: 'not_found', status: 404, message: 'Not found', description: 'There is nothing here.' }

test('a valid response breaks no rule, and each invalid one breaks the expected rule', () => {
  const count = draftOf('countContacts')
  expect(brokenRules(count, responseOf(200, { count: 1 }))).toEqual([])
  expect(brokenRules(count, responseOf(200, { count: '1' }))).toEqual(['documented body'])
  expect(brokenRules(count, responseOf(200, { count: 1 }, { 'content-type': 'text/html' }))).toEqual([
    'documented body',
  ])
  expect(brokenRules(count, responseOf(200, { count: 1 }, { version: '2020-01-01' }))).toEqual(['headers'])
  expect(brokenRules(count, responseOf(404, notFound))).toEqual(['documented status'])
  expect(brokenRules(count, responseOf(500, { ...notFound, status: 500 }))).toContain('no internal error')
  const get = draftOf('getContact')
  expect(brokenRules(get, responseOf(404, notFound))).toEqual([])
  expect(brokenRules(get, responseOf(404, { ...notFound, stack: 'at x' }))).toEqual(['error format'])
  expect(brokenRules(get, responseOf(404, { ...notFound, message: 'Gone' }))).toEqual(['error format'])
})

test('a browser may be sent to the login page where a program gets a 401', () => {
  const list = draftOf('listContacts')
  const redirect = responseOf(303, undefined, { location: '/login?next=%2Fv5%2Fcontacts' })
  expect(brokenRules(list, redirect)).toEqual([])
  expect(brokenRules(list, responseOf(303, undefined, { location: 'https://example.com' }))).not.toEqual([])
})

test('data of the other organization is found in bodies and headers, except ids from the request', () => {
  const get = draftOf('getContact')
  const response = responseOf(404, { ...notFound, description: `con_${foreignId}` })
  expect(brokenRules(get, response)).toEqual(['no foreign data'])
  expect(brokenRules({ ...get, path: `/v5/contacts/con_${foreignId}` }, response)).toEqual([])
  expect(
    brokenRules(
      { ...get, path: `/v5/contacts/con_${foreignId}` },
      responseOf(404, notFound, { link: 'Zwetschgenmus' }),
    ),
  ).toEqual(['no foreign data'])
  expect(changedTables({ contacts: ['{"id":1}'] }, { contacts: ['{"id":1}', '{"id":2}'] })).toEqual(['contacts'])
  expect(problemsInLog('{"level":30}\n{"level":50,"msg":"a"}\n    at x\nTypeError: y\n')).toHaveLength(2)
})

test('each operation that need not succeed exists and takes input', () => {
  const names = contract.operations
    .filter(({ method, ids }) => method !== 'GET' || ids.length > 0)
    .map(({ name }) => name)
  expect([...undrawable].filter((name) => !names.includes(name))).toEqual([])
})

test('operations on the own account are recognized, and so are requests that may affect the session', () => {
  const accounts = contract.operations.filter(({ isAccount }) => isAccount)
  expect(accounts.length).toBeGreaterThan(20)
  expect(accounts.filter(({ path }) => !/^\/v5\/(?:me|inbox|presence)(?:\/|$)/.test(path))).toEqual([])
  expect(accounts.map(({ name }) => name)).not.toContain('getMe')
  expect(mayAffectSession(draftOf('endSessions'), responseOf(204, undefined))).toBe(true)
  expect(mayAffectSession(draftOf('listSessions'), responseOf(401, notFound))).toBe(true)
  expect(mayAffectSession(draftOf('listSessions'), responseOf(200, []))).toBe(false)
  expect(mayAffectSession(draftOf('createContact'), responseOf(201, {}))).toBe(false)
})

test('a request is reduced as far as it still breaks the rule', async () => {
  const draft = draftOf('createContact', {
    query: ['a=1', 'b=2'],
    headers: ['Accept: a', 'Content-Type: application/json'],
    body: piecesOf({ name: `${'x'.repeat(100)}!`, email: 'a@example.com', tags: ['a'] }),
    framing: 'length',
  })
  const smallest = await minimize(
    draft,
    async (other) => other.query.includes('b=2') && JSON.stringify(other.body ?? null).includes('tags'),
  )
  expect(smallest).toMatchObject({ query: ['b=2'], headers: [], body: piecesOf({ tags: ['a'] }) })
  expect(await minimize(copyOfDraft(draft), async () => false)).toBeUndefined()
  expect(commandOf(smallest ?? draft, 'h:1')).toBe(
    `curl -si --path-as-is -g -X POST -H 'Accept:' -H 'Content-Type:' --data-binary '{"tags":["a"]}' 'http://h:1/v5/contacts?b=2'`,
  )
  expect(commandOf({ ...draft, framing: 'too long' }, 'h:1')).toContain('| nc -q 6 h 1')
})

test('a small run prints its seed and figures and removes its temporary files', { timeout: 240_000 }, async () => {
  // A separate folder, because this test may run several times at once on a machine.
  const folder = await mkdtemp(join(tmpdir(), 'rapport-fuzz-test-'))
  // When run as root, the database runs as another user, which needs access through this folder.
  await chmod(folder, 0o711)
  const file = join(folder, 'new/report.json')
  const parameters = [script, '--requests', '60', '--seed', '7', '--connections', '4', '--json', file]
  const { stdout } = await promisify(execFile)(process.execPath, parameters, {
    env: { ...process.env, TMPDIR: folder, TEMP: folder },
  })
  const report = JSON.parse(await readFile(file, 'utf8')) as Report
  expect(stdout).toMatch(/^seed 7\n/)
  expect(stdout).toContain('No rule was broken.')
  expect(Object.values(report.statuses).reduce((sum, count) => sum + count, 0)).toBe(60)
  expect(report.options).toEqual({ requests: 60, seed: 7, connections: 4, first: 0 })
  expect(await readdir(folder)).toEqual(['new'])
  await rm(folder, { recursive: true, force: true })
})

test('an invalid command line starts nothing and prints the help', async () => {
  const refused = promisify(execFile)(process.execPath, [script, '--requests', 'many'])
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--requests takes a whole') })
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--help'])
  expect(stdout).toContain('--seed')
})
