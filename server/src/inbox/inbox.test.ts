import { afterAll, beforeAll, expect, test } from 'vitest'
import { created, entriesOf, newColleague, patched, untilEntries, untilRead } from '../../test/inbox-fixture.ts'
import { callAs, loggedIn, newOwner } from '../../test/people.ts'
import { until } from '../../test/processes.ts'
import { eventSources } from '../app.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId } from '../platform/model/ids.ts'
import { webhookStore } from '../webhooks/store.ts'
import { startTestService, type Json, type TestService } from '../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '1', REASONING_CONCURRENCY: '1' })
})
afterAll(() => service.close())

test('what somebody else makes yours is in your inbox, and your own actions are not', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada', assigneeId: anna.userId })
  const contact = await created(owner.call, '/v5/contacts', { name: 'Ada Lovelace' })
  await patched(owner.call, `/v5/contacts/${contact.id}`, { ownerId: anna.userId })
  await created(anna.call, '/v5/tasks', { title: 'Own' })
  const own = await created(anna.call, '/v5/companies', { name: 'Engines' })
  await patched(anna.call, `/v5/companies/${own.id}`, { ownerId: anna.userId })
  const [second, first] = await untilEntries(anna, 2)
  expect(first).toEqual({
    id: expect.stringMatching(/^ibx_[0-9a-f]{32}$/),
    kind: 'assigned',
    resource: 'tasks',
    recordId: task.id,
    title: 'Call Ada',
    recordCount: 1,
    authorId: owner.userId,
    read: false,
    createdAt: expect.stringMatching(/Z$/),
  })
  expect(second).toMatchObject({ resource: 'contacts', recordId: contact.id, title: 'Ada Lovelace' })
  await untilRead(service, owner)
  expect(await entriesOf(anna)).toHaveLength(2)
  expect(await entriesOf(owner)).toEqual([])
})

test('a deal and a company that become yours are in your inbox once, however often they change otherwise', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const deal = await created(owner.call, '/v5/deals', { name: 'Engine', ownerId: anna.userId })
  const company = await created(owner.call, '/v5/companies', { name: 'Engines', ownerId: anna.userId })
  await patched(owner.call, `/v5/deals/${deal.id}`, { name: 'Two engines' })
  await patched(owner.call, `/v5/companies/${company.id}`, { ownerId: anna.userId, name: 'Motors' })
  await untilRead(service, owner)
  const found = await entriesOf(anna)
  expect(found.map(({ resource, title }) => [resource, title])).toEqual([
    ['companies', 'Motors'],
    ['deals', 'Two engines'],
  ])
})

test('a note mentions the people that it names, and an edit only those that it adds', async () => {
  const owner = await newOwner(service)
  const [anna, ben] = [await newColleague(service, owner), await newColleague(service, owner)]
  const other = await newOwner(service)
  const { id } = await created(owner.call, '/v5/contacts', { name: 'Ada Lovelace' })
  const link = ({ userId }: { userId: string }) => `@[Somebody](${userId})`
  const text = `Ask ${link(anna)}, ${link(anna)}, ${link(owner)} and ${link(other)}`
  const note = await created(owner.call, `/v5/contacts/${id}/notes`, { body: text })
  await patched(owner.call, `/v5/contacts/${id}/notes/${note.id}`, { body: `${text} or ${link(ben)}` })
  await untilRead(service, owner)
  for (const person of [anna, ben]) {
    const expected = { kind: 'mentioned', resource: 'notes', recordId: note.id, authorId: owner.userId }
    const found = await entriesOf(person)
    expect(found).toEqual([expect.objectContaining(expected)])
    expect(found[0].title).toContain('Ask @[Somebody]')
  }
  expect(await entriesOf(owner)).toEqual([])
  expect(await entriesOf(other)).toEqual([])
})

test('a suggestion is for the owner of its record and for the author of the note', async () => {
  const owner = await newOwner(service)
  const [anna, ben] = [await newColleague(service, owner), await newColleague(service, owner)]
  const { id } = await created(anna.call, '/v5/contacts', { name: 'Ada Lovelace', ownerId: anna.userId })
  const body = 'Please call me back on Monday, my number is +49 30 901820.'
  await created(ben.call, `/v5/contacts/${id}/notes`, { body })
  const [entry] = await untilEntries(anna, 1)
  expect(entry).toMatchObject({ kind: 'suggestion', resource: 'suggestions', authorId: null })
  expect(entry.title.length).toBeGreaterThan(3)
  const [same] = await untilEntries(ben, 1)
  expect(same.recordId).toBe(entry.recordId)
  expect(await entriesOf(owner)).toEqual([])
})

test('failed rows are reported to the person who created the import, once a day', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner, { role: 'admin' })
  const { id, triggerUrl } = await created(anna.call, '/v5/imports', { name: 'Fair' })
  const push = (email: string, externalId: string, name = 'Ada') =>
    fetch(triggerUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contact: { name, email, externalIdCrm: externalId } }),
    })
  const conflicts = async () => (await anna.call('GET', `/v5/imports/${id}/rows/count?status=CONFLICT`)).body.count
  for (const [email, externalId] of [
    ['one@example.com', '1'],
    ['two@example.com', '2'],
  ] as const)
    expect((await push(email, externalId)).status).toBe(200)
  const stats = async () => (await anna.call('GET', `/v5/imports/${id}`)).body.stats.counts
  await until('both are processed', async () => (await stats()).PROCESSED === 2)
  expect(await entriesOf(anna)).toEqual([])
  for (let count = 1; count <= 2; count++) {
    await push('one@example.com', '2', `Ada ${count}`)
    await until('the row is in conflict', async () => (await conflicts()) === count)
  }
  const expected = { kind: 'importFailed', resource: 'imports', recordId: id, title: 'Fair', authorId: null }
  expect(await entriesOf(anna)).toEqual([expect.objectContaining(expected)])
  expect(await entriesOf(owner)).toEqual([])
})

test('the person who created a webhook learns that the service has disabled it', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner, { role: 'admin' })
  const url = 'https://example.com/hook'
  const hook = await created(anna.call, '/v5/webhooks', { url, events: ['contact.*'], scopes: ['contact:list:read'] })
  await patched(anna.call, `/v5/webhooks/${hook.id}`, { status: 'paused' })
  await disable(hook.id)
  const [entry] = await untilEntries(anna, 1)
  expect(entry).toMatchObject({ kind: 'webhookDisabled', resource: 'webhooks', recordId: hook.id, title: url })
  expect(await entriesOf(owner)).toEqual([])

  /** As its dispatcher does after five days of failures. */
  async function disable(id: string) {
    const uuidOf = (shown: string) => decodeId(shown.slice(0, 3), shown) ?? ''
    const columns = () => ({ status: 'disabled', status_reason: 'failing' })
    await service.database.transaction(serviceActor('maintenance', uuidOf(owner.organizationId)), (transaction) =>
      webhookStore(eventSources).write(transaction, [{ kind: 'update', id: uuidOf(id), values: {}, columns }]),
    )
  }
})

test('pages, filters and counts are about the entries of the person', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  await created(owner.call, '/v5/tasks', { title: 'Call Ada', assigneeId: anna.userId })
  for (const resource of ['deals', 'companies'])
    await created(owner.call, `/v5/${resource}`, { name: 'Engines', ownerId: anna.userId })
  const { id } = await created(owner.call, '/v5/contacts', { name: 'Ada' })
  await created(owner.call, `/v5/contacts/${id}/notes`, { body: `@[Anna](${anna.userId})` })
  const all = await untilEntries(anna, 4)
  const first = await anna.call('GET', '/v5/inbox?limit=3')
  expect(first.body).toEqual(all.slice(0, 3))
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
  const { pathname, search } = new URL(next, service.url)
  expect(await entriesOf(anna, `${search}`)).toEqual(all.slice(3))
  expect(pathname).toBe('/v5/inbox')
  expect(await entriesOf(anna, `?startingAfter=${all[2].id}`)).toEqual(all.slice(3))
  expect(await entriesOf(anna, '?kind=mentioned')).toHaveLength(1)
  await patched(anna.call, `/v5/inbox/${all[1].id}`, { read: true })
  expect((await entriesOf(anna, '?read=false')).map(({ id: one }) => one)).toEqual([all[0].id, all[2].id, all[3].id])
  expect((await anna.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 3 })
  expect((await owner.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 0 })
  const marked = await anna.call('POST', '/v5/inbox/read', { body: { until: all[2].id } })
  expect([marked.status, marked.body]).toEqual([200, { unread: 1 }])
  expect((await entriesOf(anna, '?read=false')).map(({ id: one }) => one)).toEqual([all[0].id])
  await patched(anna.call, `/v5/inbox/${all[1].id}`, { read: false })
  expect((await anna.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 2 })
})

test('what another device reads is known to the stream of this one', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const counts: number[] = []
  const leaving = new AbortController()
  const response = await fetch(`${service.url}/v5/events/stream`, {
    headers: { authorization: `Bearer ${anna.accessToken}`, 'service-organization-id': owner.organizationId },
    signal: leaving.signal,
  })
  const reading = (async () => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array)
      counts.splice(0, counts.length)
      for (const [, data = ''] of text.matchAll(/event: inbox\ndata: (.*)\n\n/g)) counts.push(JSON.parse(data).unread)
    }
  })().catch(() => undefined)
  await until('the stream begins with the count', () => counts.length === 1)
  await created(owner.call, '/v5/tasks', { title: 'Call Ada', assigneeId: anna.userId })
  await until('the stream has the new entry', () => counts.at(-1) === 1)
  const [entry] = await entriesOf(anna)
  // The session of another device.
  const device = await loggedIn(service, anna.email, anna.password)
  const other = callAs(service, device.accessToken, { 'service-organization-id': owner.organizationId })
  await patched(other, `/v5/inbox/${entry.id}`, { read: true })
  await until('the stream has what the other device has read', () => counts.at(-1) === 0)
  expect(counts).toEqual([0, 1, 0])
  leaving.abort()
  await reading
})

test('a program has no inbox, and its stream has no counts', async () => {
  const { organization, organizationId } = await newOwner(service)
  for (const [method, path, body] of [
    ['GET', '/v5/inbox'],
    ['GET', '/v5/inbox/ibx_019aa5b2c1d27e3fa4b5c6d7e8f90123'],
    ['PATCH', '/v5/inbox/ibx_019aa5b2c1d27e3fa4b5c6d7e8f90123', { read: true }],
    ['POST', '/v5/inbox/read', { until: 'ibx_019aa5b2c1d27e3fa4b5c6d7e8f90123' }],
    ['GET', '/v5/inbox/counts'],
    ['GET', '/v5/inbox/settings'],
    ['PATCH', '/v5/inbox/settings', {}],
  ] as const) {
    const answer = await organization.call(method, path, { body })
    expect([answer.status, answer.body.code], path).toEqual([403, 'insufficient_permissions'])
  }
  const { accessToken } = await newOwner(service)
  const foreign = await callAs(service, accessToken, { 'service-organization-id': organizationId })('GET', '/v5/inbox')
  expect(foreign.status).toBe(403)
})

test('settings have defaults, are checked, and are those of a person in an organization', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const path = '/v5/inbox/settings'
  const initial = (await anna.call('GET', path)).body
  expect(initial).toEqual({
    ways: {
      ...Object.fromEntries(
        ['assigned', 'mentioned', 'suggestion', 'importFailed', 'webhookDisabled'].map((kind) => [kind, ['inbox']]),
      ),
      reminder: ['inbox', 'mail'],
      taskDue: ['inbox'],
    },
    digestAt: '08:00',
    digestDays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
  })
  for (const [body, field] of [
    [{ ways: { assigned: ['mail'] } }, 'ways'],
    [{ ways: { reminder: ['digest'] } }, 'ways'],
    [{ ways: { others: ['inbox'] } }, 'ways'],
    [{ ways: { assigned: 'inbox' } }, 'ways'],
    [{ ways: null }, 'ways'],
    [{ digestAt: '24:00' }, 'digestAt'],
    [{ digestAt: null }, 'digestAt'],
    [{ digestDays: ['Monday'] }, 'digestDays'],
    [{ unknown: true }, 'unknown'],
  ] as const) {
    const { status, body: refusal } = await anna.call('PATCH', path, { body })
    expect([status, refusal.details?.[0]?.field.split('.')[0]], JSON.stringify(body)).toEqual([422, field])
  }
  const change = { ways: { assigned: ['digest', 'inbox', 'digest'], mentioned: [] }, digestDays: ['sunday', 'monday'] }
  const changed: Json = { ...initial, digestDays: ['monday', 'sunday'] }
  changed.ways = { ...initial.ways, assigned: ['digest', 'inbox'], mentioned: [] }
  expect(await patched(anna.call, path, change)).toEqual(changed)
  changed.ways.assigned = ['inbox']
  changed.digestAt = '17:45'
  expect(await patched(anna.call, path, { ways: { assigned: null }, digestAt: '17:45' })).toEqual(changed)
  expect((await anna.call('GET', path)).body).toEqual(changed)
  expect((await owner.call('GET', path)).body).toEqual(initial)
  const elsewhere = callAs(service, anna.accessToken)
  expect((await elsewhere('GET', path)).body).toEqual(initial)
})
