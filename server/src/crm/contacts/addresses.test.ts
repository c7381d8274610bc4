import { afterAll, beforeAll, expect, test } from 'vitest'
import { pushesOf } from '../../../test/processed-pushes.ts'
import { type Call, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const plain = (address: string) => ({ address, kind: null, primary: true, bouncedAt: null })
const further = (address: string, kind: string | null = null) => ({ address, kind, primary: false, bouncedAt: null })

async function newContact({ call }: TestOrganization, body: object) {
  const created = await call('POST', '/v5/contacts', { body })
  expect([created.status, created.body]).toMatchObject([201, {}])
  return { ...created.body, path: `/v5/contacts/${created.body.id}` }
}

test('`email` and `phone` are the primary entries of the lists, whichever of them is written', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const ada = await newContact(organization, { email: 'Ada@Example.com', phone: '+49301234567' })
  expect(ada.emails).toEqual([plain('Ada@Example.com')])
  expect(ada.phones).toEqual([{ number: '+49301234567', kind: null, primary: true }])
  const both = await call('PATCH', ada.path, {
    body: {
      emails: [
        { address: 'ada@home.example', kind: 'personal' },
        { address: 'ada@work.example', primary: true },
      ],
      phones: [{ number: '+49 30 7654321', kind: 'mobile' }],
    },
  })
  expect(both.body).toMatchObject({ email: 'ada@work.example', phone: '+49307654321' })
  expect(both.body.emails).toEqual([further('ada@home.example', 'personal'), plain('ada@work.example')])
  expect((await call('GET', ada.path)).body).toEqual(both.body)
  const bob = await newContact(organization, { emails: [{ address: 'bob@example.com' }], name: 'Bob' })
  expect(bob.email).toBe('bob@example.com')
  const none = await call('PATCH', bob.path, { body: { emails: [] } })
  expect([none.body.email, none.body.emails]).toEqual([null, []])
  const { body: selected } = await call('GET', `${ada.path}?select[]=emails&select[]=phone`)
  expect(selected).toEqual({ emails: both.body.emails, phone: '+49307654321' })
})

test('a new primary address replaces the former one, which stays only if the caller says so', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const { path } = await newContact(organization, {
    emails: [
      { address: 'a@example.com', kind: 'work' },
      { address: 'b@example.com', kind: 'personal' },
    ],
  })
  const replaced = await call('PATCH', path, { body: { email: 'c@example.com' } })
  expect(replaced.body.emails).toEqual([
    { ...plain('c@example.com'), kind: 'work' },
    further('b@example.com', 'personal'),
  ])
  const kept = await call('PATCH', path, { body: { email: 'd@example.com', keepFormerEmail: true } })
  expect(kept.body.emails).toEqual([
    { ...plain('d@example.com'), kind: 'work' },
    further('c@example.com', 'work'),
    further('b@example.com', 'personal'),
  ])
  const chosen = await call('PATCH', path, { body: { email: 'b@example.com', keepFormerEmail: true } })
  expect(chosen.body.emails.map(({ address }: { address: string }) => address).sort()).toEqual([
    'b@example.com',
    'c@example.com',
    'd@example.com',
  ])
  expect(chosen.body.emails.find(({ primary }: { primary: boolean }) => primary)).toMatchObject({
    address: 'b@example.com',
    kind: 'personal',
  })
  const spelled = await call('PATCH', path, { body: { email: 'B@Example.com', keepFormerEmail: true } })
  expect(spelled.body.emails).toHaveLength(3)
  const phone = await call('PATCH', path, { body: { phone: '+4930111111' } })
  const other = await call('PATCH', path, { body: { phone: '+4930222222', keepFormerPhone: true } })
  expect([phone.body.phones.length, other.body.phones.length]).toEqual([1, 2])
})

test('a change that cannot be meant is refused', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const two = { emails: [{ address: 'a@example.com' }, { address: 'b@example.com' }] }
  const { path } = await newContact(organization, two)
  for (const [body, field] of [
    [{ email: 'b@example.com', ...two }, 'email'],
    [{ email: null, ...two }, 'email'],
    [{ email: null }, 'email'],
    [{ ...two, keepFormerEmail: true }, 'keepFormerEmail'],
    [{ keepFormerEmail: true }, 'keepFormerEmail'],
    [{ name: 'X', keepFormerPhone: true }, 'keepFormerPhone'],
    [{ email: null, keepFormerEmail: true }, 'keepFormerEmail'],
    [{ emails: null }, 'emails'],
    [{ emails: [{ address: 'a@example.com' }, { address: 'A@EXAMPLE.com' }] }, 'emails.1.address'],
    [{ emails: [{ address: 'no address' }] }, 'emails.0.address'],
    [{ emails: [{ address: 'a@example.com', kind: 'fax' }] }, 'emails.0.kind'],
    [{ emails: [{ address: 'a@example.com', bouncedAt: '2026-01-01T00:00:00.000Z' }] }, 'emails.0.bouncedAt'],
    [
      {
        emails: [
          { address: 'a@example.com', primary: true },
          { address: 'b@example.com', primary: true },
        ],
      },
      'emails',
    ],
    [{ emails: Array.from({ length: 21 }, (_, index) => ({ address: `a${index}@example.com` })) }, 'emails'],
    [{ phones: [{ number: '12' }] }, 'phones.0.number'],
  ] as const) {
    const refused = await call('PATCH', path, { body })
    expect([field, refused.status, refused.body.details?.[0]?.field]).toEqual([field, 422, field])
  }
  const create = await call('POST', '/v5/contacts', { body: { email: 'x@example.com', ...two } })
  expect([create.status, create.body.details[0].field]).toEqual([422, 'email'])
  expect((await call('POST', '/v5/contacts', { body: { name: 'X', keepFormerEmail: true } })).status).toBe(422)
})

test('every address is unique in the team', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const ada = await newContact(organization, { emails: [{ address: 'a@example.com' }, { address: 'b@example.com' }] })
  const taken = { status: 409, body: { code: 'already_exists', details: [{ field: 'email', id: ada.id }] } }
  expect(await call('POST', '/v5/contacts', { body: { email: 'B@example.com' } })).toMatchObject(taken)
  const list = { emails: [{ address: 'x@example.com' }, { address: 'A@example.com' }] }
  const inList = { ...taken, body: { ...taken.body, details: [{ field: 'emails', id: ada.id }] } }
  expect(await call('POST', '/v5/contacts', { body: list })).toMatchObject(inList)
  const bob = await newContact(organization, { email: 'bob@example.com' })
  expect(await call('PATCH', bob.path, { body: { email: 'b@example.com' } })).toMatchObject(taken)
  const second = { emails: [{ address: 'bob@example.com' }, { address: 'B@example.com' }] }
  expect(await call('PATCH', bob.path, { body: second })).toMatchObject(inList)
  expect((await call('GET', bob.path)).body.emails).toEqual([plain('bob@example.com')])

  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const elsewhere = await newContact(organization, { email: 'b@example.com', teamId: team.id })
  const moved = await call('PATCH', ada.path, { body: { teamId: team.id } })
  expect(moved).toMatchObject({ status: 409, body: { details: [{ field: 'emails', id: elsewhere.id }] } })
})

test('the addresses of a deleted contact are free, and must be so when it is restored', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const ada = await newContact(organization, { emails: [{ address: 'a@example.com' }, { address: 'b@example.com' }] })
  await call('DELETE', ada.path)
  const bob = await newContact(organization, { email: 'b@example.com' })
  const refused = await call('POST', `${ada.path}/restore`)
  expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'emails', id: bob.id }] } })
  await call('DELETE', bob.path)
  expect((await call('POST', `${ada.path}/restore`)).body.emails).toHaveLength(2)
  expect((await call('POST', `${bob.path}/restore`)).status).toBe(409)
  await call('PATCH', ada.path, { body: { emails: [{ address: 'a@example.com' }] } })
  expect((await call('POST', `${bob.path}/restore`)).status).toBe(200)
})

test('of two concurrent requests for one address, one gets it', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  for (let round = 0; round < 12; round++) {
    const wanted = `wanted${round}@example.com`
    const [first, second] = await Promise.all([
      newContact(organization, { email: `first${round}@example.com` }),
      newContact(organization, { email: `second${round}@example.com` }),
    ])
    const asFurther = { emails: [{ address: `first${round}@example.com` }, { address: wanted }] }
    const requests = [
      () => call('PATCH', first.path, { body: asFurther }),
      () => call('POST', '/v5/contacts', { body: { email: wanted } }),
      () => call('PATCH', second.path, { body: { email: wanted } }),
      () =>
        call('POST', '/v5/contacts', { body: { emails: [{ address: `x${round}@example.com` }, { address: wanted }] } }),
    ]
    const chosen = [requests[round % 4], requests[(round + 1 + (round % 3)) % 4]]
    const answers = await Promise.all(chosen.map((send) => send?.()))
    expect(answers.map((answer) => Math.floor((answer?.status ?? 0) / 100)).sort()).toEqual([2, 4])
    expect(answers.map((answer) => answer?.status)).toContain(409)
  }
})

test('every address is found by a search and by a filter, and nothing else', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const ada = await newContact(organization, {
    name: 'Ada',
    emails: [{ address: 'ada@work.example' }, { address: 'Countess@Home.example' }],
    phones: [{ number: '+49301111111' }, { number: '+49302222222' }],
  })
  const bob = await newContact(organization, { name: 'Bob', email: 'bob@work.example' })
  const nobody = await newContact(organization, { name: 'Nobody' })
  const found = async (query: string) =>
    (await call('GET', `/v5/contacts?${query}`)).body.map(({ id }: { id: string }) => id).sort()
  for (const [query, expected] of [
    ['query=countess', [ada]],
    ['query=countess%20ada', [ada]],
    ['query=countess%20bob', []],
    ['query=030%20222', [ada]],
    ['query=%2B49302222222', [ada]],
    ['filter.emails.address.equals=Countess@Home.example', [ada]],
    ['filter.emails.address.equals=countess@home.example', []],
    ['filter.emails.address.equalsIgnoreCase=countess@home.example', [ada]],
    ['filter.emails.address.equalsIgnoreCase=ADA@work.example', [ada]],
    ['filter.emails.address.equals=ada@work.example', [ada]],
    ['filter.emails.address.in=ada@work.example,bob@work.example', [ada, bob]],
    ['filter.emails.address.not=Countess@Home.example', [bob, nobody]],
    ['filter.emails.address.notIn=Countess@Home.example,bob@work.example', [nobody]],
    ['filter.emails.address.contains=home', [ada]],
    ['filter.emails.address.contains=work', [ada, bob]],
    ['filter.emails.address.startsWith=countess', [ada]],
    ['filter.emails.address.endsWith=home.example', [ada]],
    ['filter.emails.address.equals=null', [nobody]],
    ['filter.emails.address.not=null', [ada, bob]],
    ['filter.phones.number.equals=%2B49302222222', [ada]],
    ['filter.phones.number.contains=030222', [ada]],
    ['filter.phones.number.equals=null', [bob, nobody]],
    ['filter.email.equals=Countess@Home.example', []],
  ] as const) {
    expect([query, await found(query)]).toEqual([query, expected.map(({ id }) => id).sort()])
  }
  // As for the primary ones.
  const schema = (await call('GET', '/v5/schema')).body.resources.find(
    ({ name }: { name: string }) => name === 'contacts',
  )
  for (const [primary, path, value] of [
    ['email', 'emails.address', 'ada@work.example'],
    ['phone', 'phones.number', '%2B49302222222'],
  ])
    for (const operator of schema.fields.find(({ name }: { name: string }) => name === primary).operators) {
      const { status, text } = await call('GET', `/v5/contacts?filter.${path}.${operator}=${value}`)
      expect([path, operator, status], text).toEqual([path, operator, 200])
    }
  for (const query of [
    'filter.emails.kind.equals=work',
    'filter.emails.equals=x',
    'orderBy=emails',
    'orderBy=emails.address',
    'select[]=emails.address',
  ]) {
    expect([query, (await call('GET', `/v5/contacts?${query}`)).status]).toEqual([query, 400])
  }
  await call('DELETE', ada.path)
  expect(await found('query=countess')).toEqual([])
  expect(await found('deleted=true&query=countess')).toEqual([ada.id])
  expect(await found('deleted=true&filter.emails.address.equals=Countess@Home.example')).toEqual([ada.id])
})

test('a push with a further address changes the contact that has it', async () => {
  const organization = await service.newOrganization()
  const ada = await newContact(organization, { emails: [{ address: 'a@example.com' }, { address: 'b@example.com' }] })
  const push = pushesOf(service, organization)
  const [first, second] = await push(
    { contact: { email: 'B@example.com', bio: 'Mathematician' } },
    { contact: { email: 'b@example.com' } },
  )
  expect(first).toMatchObject({ status: 'PROCESSED', contactId: ada.id, warnings: [] })
  expect(second).toMatchObject({ status: 'DUPLICATE', contactId: ada.id })
  expect((await organization.call('GET', ada.path)).body).toMatchObject({ bio: 'Mathematician', emails: ada.emails })
})

test('a change of the list is one entry of the timeline, and a change of the primary address alone is that of `email`', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const { path } = await newContact(organization, { email: 'a@example.com' })
  const { position } = (await call('GET', '/v5/events/position')).body
  await call('PATCH', path, { body: { email: 'b@example.com' } })
  await call('PATCH', path, { body: { emails: [{ address: 'b@example.com' }, { address: 'c@example.com' }] } })
  const same = await call('PATCH', path, { body: { emails: (await call('GET', path)).body.emails } })
  expect(same.status).toBe(200)
  const { body: entries } = await call('GET', `${path}/timeline?sort=asc`)
  expect(entries.map((entry: { change: { changes: object[] } }) => entry.change.changes)).toEqual([
    [],
    [{ field: 'email', before: 'a@example.com', after: 'b@example.com' }],
    [{ field: 'emails', before: [plain('b@example.com')], after: [plain('b@example.com'), further('c@example.com')] }],
  ])
  const { body: page } = await call('GET', `/v5/events?after=${position}`)
  const updated = page.events.filter(({ kind }: { kind: string }) => kind === 'updated')
  expect(updated[0].values).toMatchObject({ email: 'b@example.com', emails: [plain('b@example.com')] })
})

test('two organizations have the same addresses, and neither changes those of the other', async () => {
  const organizations = [await service.newOrganization(), await service.newOrganization()]
  const emails = [{ address: 'same@example.com' }, { address: 'further@example.com' }]
  const [ours, theirs] = await Promise.all(organizations.map((one) => newContact(one, { emails })))
  const read = async () => (await organizations[1]?.call('GET', theirs?.path ?? ''))?.body
  const before = await read()
  const call = organizations[0]?.call as Call
  expect((await call('DELETE', ours?.path ?? '')).status).toBe(204)
  const restored = await call('POST', `${ours?.path}/restore`)
  expect(restored.body).toMatchObject({
    email: 'same@example.com',
    rootContactId: expect.not.stringContaining(before.rootContactId),
  })
  expect((await call('PATCH', ours?.path ?? '', { body: { emails: emails.toReversed() } })).status).toBe(200)
  expect((await call('PATCH', ours?.path ?? '', { body: { email: 'other@example.com' } })).status).toBe(200)
  expect(await read()).toEqual(before)
  const taken = await organizations[1]?.call('POST', '/v5/contacts', { body: { email: 'further@example.com' } })
  expect(taken?.status).toBe(409)
})
