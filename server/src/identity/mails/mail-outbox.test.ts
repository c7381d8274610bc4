import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { droppedMails, endedMails } from './queue-store.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { mailOf, mailsOf, newPerson } from '../../../test/mail-queue.ts'
import { findExpired, purgeWithoutDependents } from '../../platform/operations/maintenance/retention-store.ts'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { dump } from '../../../test/dump.ts'

let service: TestService
let ours: TestOrganization
let theirs: TestOrganization
beforeAll(async () => {
  service = await startTestService({ PUBLIC_URL: 'https://crm.example.com', SIGN_UP: 'open' })
  ours = await service.newOrganization()
  theirs = await service.newOrganization()
})
afterAll(() => service.close())

const uuid = ({ organizationId }: TestOrganization): string => decodeId('org', organizationId) ?? ''

/** Calls with the owner's access token. */
const owner = ({ accessToken }: TestOrganization): Call => asToken(accessToken)

const asToken =
  (token: string): Call =>
  (method, path, options = {}) =>
    service.anonymous(method, path, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } })

/** A stored password reset mail, with its public id. */
async function requestPasswordReset(organizations: readonly TestOrganization[]) {
  const person = await newPerson(service, organizations.map(uuid))
  await service.anonymous('POST', '/auth/forgot-password', { body: { email: person.email } })
  await until('the mail is kept', async () => (await mailOf(service, person.email)).status === 'kept')
  return { ...person, mailId: encodeId('mai', (await mailOf(service, person.email)).id) }
}

const isListed = async (call: Call, id: string): Promise<boolean> => {
  const { status, body } = await call('GET', `/v5/mails?filter.id.equals=${id}`)
  expect(status).toBe(200)
  return body.length === 1
}

test('without a mail server the log says so, and an owner can read the mails with their links', async () => {
  expect(service.logged.filter((line) => line.includes('SMTP_URL is not set'))).toHaveLength(1)
  const { mailId, email } = await requestPasswordReset([ours])
  const record = await owner(ours)('GET', `/v5/mails/${mailId}`)
  expect(record.body).toMatchObject({ kind: 'reset-password', recipient: email, status: 'kept', sentAt: null })
  expect(record.text).not.toMatch(/ott_/)
  const content = await owner(ours)('GET', `/v5/mails/${mailId}/content`)
  expect(content.status).toBe(200)
  const [link] = content.body.links
  expect(link).toMatch(/^https:\/\/crm\.example\.com\/account#reset-password=ott_[\w-]{43}$/)
  expect(content.body.text).toContain(link)
  expect(content.body.html).toContain(link)
  // The link works.
  const token = new URL(link).hash.split('=')[1]
  const reset = await service.anonymous('POST', '/auth/reset-password', {
    body: { token, password: 'quite another long password' },
  })
  expect(reset.status).toBe(204)
})

test('links in mails point to the host of AUTH_ORIGIN', async () => {
  const serviceWithAuthOrigin = await startTestService({
    PUBLIC_URL: 'https://crm.example.com',
    AUTH_ORIGIN: 'https://auth.example.com',
  })
  try {
    const { call, accessToken } = await serviceWithAuthOrigin.newOrganization()
    const email = `${randomUUID()}@example.com`
    expect((await call('POST', '/v5/invitations', { body: { email, role: 'member' } })).status).toBe(201)
    await until('the mail is kept', async () => (await mailOf(serviceWithAuthOrigin, email)).status === 'kept')
    const path = `/v5/mails/${encodeId('mai', (await mailOf(serviceWithAuthOrigin, email)).id)}/content`
    const content = await serviceWithAuthOrigin.anonymous('GET', path, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    expect(content.body.links).toEqual([expect.stringMatching(/^https:\/\/auth\.example\.com\/account#invitation=/)])
  } finally {
    await serviceWithAuthOrigin.close()
  }
})

test('only owners of the first organization read the links of invitations, before or after they are sent', async () => {
  const invite = async (organization: TestOrganization) => {
    const email = `${randomUUID()}@example.com`
    const invited = await owner(organization)('POST', '/v5/invitations', { body: { email, role: 'member' } })
    expect(invited.status, invited.text).toBe(201)
    await until('the mail is kept', async () => (await mailOf(service, email)).status === 'kept')
    return encodeId('mai', (await mailOf(service, email)).id)
  }
  const [first, other] = [await invite(ours), await invite(theirs)]
  expect((await owner(ours)('GET', `/v5/mails/${first}/content`)).status).toBe(200)
  for (const call of [owner(theirs), theirs.call]) {
    const refused = await call('GET', `/v5/mails/${other}/content`)
    expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_permissions' } })
    expect(refused.body.description).toContain('rapport user invitation-link')
  }
  // A mail of another kind is still theirs, and one that does not exist is not found.
  const { mailId } = await requestPasswordReset([theirs])
  expect((await owner(theirs)('GET', `/v5/mails/${mailId}/content`)).status).toBe(200)
  expect((await owner(theirs)('GET', `/v5/mails/mai_${'0'.repeat(32)}/content`)).status).toBe(404)
})

const readEvents = async (mailId: string): Promise<Json[]> =>
  (await ours.call('GET', `/v5/audit-log?filter.action.equals=mail.read&filter.recordId.equals=${mailId}&sort=asc`))
    .body

test('the audit log records who read a mail’s content, but not the content', async () => {
  const { mailId, email } = await requestPasswordReset([ours])
  const path = `/v5/mails/${mailId}/content`
  expect((await owner(theirs)('GET', path)).status).toBe(404)
  await ours.call('GET', `/v5/mails/${mailId}`)
  expect(await readEvents(mailId)).toEqual([])
  const byOwner = await owner(ours)('GET', path)
  expect((await ours.call('GET', path)).status).toBe(200)
  const events = await readEvents(mailId)
  const record = { recordType: 'mail', recordId: mailId, address: '127.0.0.1', details: {} }
  expect(events).toMatchObject([
    { actorKind: 'user', actorId: ours.userId, requestId: byOwner.headers.get('x-request-id'), ...record },
    { actorKind: 'key', ...record },
  ])
  for (const value of [email, byOwner.body.links[0], 'ott_']) expect(JSON.stringify(events)).not.toContain(value)
})

test('an API key reads a mail’s content only while the person who created it is an owner', async () => {
  const left = await service.newOrganization()
  const { mailId } = await requestPasswordReset([left])
  const read = async () => (await left.call('GET', `/v5/mails/${mailId}/content`)).status
  expect(await read()).toBe(200)
  const setRole = (role: string) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`update members set role = ${role} where organization_id = ${uuid(left)}::uuid
        and user_id = ${decodeId('usr', left.userId)}::uuid`,
    )
  await setRole('admin')
  expect(await read()).toBe(403)
  // What they are elsewhere does not matter.
  const elsewhere = await service.newOrganization()
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into members (organization_id, user_id, role)
      values (${uuid(elsewhere)}::uuid, ${decodeId('usr', left.userId)}::uuid, 'owner')`,
  )
  expect(await read()).toBe(403)
  await setRole('owner')
  expect(await read()).toBe(200)
})

test('a mail’s content is not shown if the audit log cannot record it', async () => {
  const { mailId } = await requestPasswordReset([ours])
  const execute = (statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery('check the database', statement)
  await execute(sql`alter table audit_events add constraint mail_fault check (action <> 'mail.read') not valid`)
  const refused = await owner(ours)('GET', `/v5/mails/${mailId}/content`)
  await execute(sql`alter table audit_events drop constraint mail_fault`)
  expect(refused.status).toBe(500)
  expect(refused.text).not.toContain('ott_')
  expect(await readEvents(mailId)).toEqual([])
})

test('another organization’s mails are neither listed nor readable by id', async () => {
  const { mailId } = await requestPasswordReset([theirs])
  expect(await isListed(owner(theirs), mailId)).toBe(true)
  expect(await isListed(owner(ours), mailId)).toBe(false)
  for (const path of [`/v5/mails/${mailId}`, `/v5/mails/${mailId}/content`])
    expect((await owner(ours)('GET', path)).status).toBe(404)
})

test('the mail of a person in two organizations or in none is visible to nobody', async () => {
  for (const organizations of [[ours, theirs], []]) {
    const { mailId } = await requestPasswordReset(organizations)
    for (const call of [owner(ours), owner(theirs)]) {
      expect(await isListed(call, mailId)).toBe(false)
      expect((await call('GET', `/v5/mails/${mailId}/content`)).status).toBe(404)
    }
  }
  const unknownEmail = `${randomUUID()}@example.com`
  await service.anonymous('POST', '/auth/sign-up', { body: { email: unknownEmail } })
  await until('the mail is kept', async () => (await mailOf(service, unknownEmail)).status === 'kept')
  expect((await mailOf(service, unknownEmail)).organizationId).toBeNull()
})

test('a link is no longer shown once the person has joined another organization or left', async () => {
  const { id, mailId } = await requestPasswordReset([ours])
  const read = async () => (await owner(ours)('GET', `/v5/mails/${mailId}/content`)).status
  const execute = (statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery('check the database', statement)
  expect(await read()).toBe(200)
  await execute(sql`insert into members (organization_id, user_id, role) values (${uuid(theirs)}, ${id}, 'viewer')`)
  expect(await read()).toBe(404)
  await execute(sql`delete from members where user_id = ${id} and organization_id = ${uuid(theirs)}`)
  expect(await read()).toBe(200)
  await execute(sql`delete from members where user_id = ${id}`)
  expect(await read()).toBe(404)
})

test('only owners can read a mail’s content: no other role and no key with wildcard scopes', async () => {
  const { mailId } = await requestPasswordReset([ours])
  const path = `/v5/mails/${mailId}/content`
  const ownerId = decodeId('usr', ours.userId) ?? ''
  try {
    for (const role of ['admin', 'member', 'viewer']) {
      await service.database.crossTenantQuery(
        'check the database',
        sql`update members set role = ${role} where organization_id = ${uuid(ours)} and user_id = ${ownerId}`,
      )
      const refused = await owner(ours)('GET', path)
      expect([role, refused.status, refused.body.code]).toEqual([role, 403, 'missing_scopes'])
      expect([role, (await owner(ours)('GET', '/v5/mails')).status]).toEqual([role, role === 'admin' ? 200 : 403])
    }
  } finally {
    await service.database.crossTenantQuery(
      'check the database',
      sql`update members set role = 'owner' where organization_id = ${uuid(ours)} and user_id = ${ownerId}`,
    )
  }
  const broadCall = await ours.withScopes(['urn:service:*:*:*', 'urn:service:mail:*:*'])
  expect((await broadCall('GET', `/v5/mails/${mailId}`)).status).toBe(200)
  expect(await broadCall('GET', path)).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
})

test('neither the database nor the log contains a mailed token in a usable form', async () => {
  const { mailId } = await requestPasswordReset([ours])
  const { body } = await owner(ours)('GET', `/v5/mails/${mailId}/content`)
  const token = new URL(body.links[0]).hash.split('=')[1] ?? ''
  expect(token).toMatch(/^ott_/)
  const rows = Object.values(await dump(service.database))
    .flat()
    .join('\n')
  const tokenBytes = Buffer.from(token.slice(4), 'base64url')
  const forms = [
    token,
    token.slice(4),
    tokenBytes.toString('hex'),
    Buffer.from(token).toString('hex'),
    'Someone, probably you',
  ]
  for (const form of forms) {
    expect(rows).not.toContain(form)
    expect(service.logged.join('')).not.toContain(form)
  }
  expect(rows).toContain('body_sealed')
})

test('an encrypted body cannot be decrypted as that of another mail', async () => {
  const [one, other] = [await requestPasswordReset([ours]), await requestPasswordReset([ours])]
  const read = ({ mailId }: { mailId: string }) => owner(ours)('GET', `/v5/mails/${mailId}/content`)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update mails set body_sealed = (select body_sealed from mails where recipient = ${other.email})
      where recipient = ${one.email}`,
  )
  expect((await read(one)).status).toBe(500)
  expect((await read(other)).status).toBe(200)
})

test('a mail from before the person joined an organization stays hidden from that organization', async () => {
  const { id, mailId } = await requestPasswordReset([])
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into members (organization_id, user_id, role) values (${uuid(ours)}, ${id}, 'member')`,
  )
  expect(await isListed(owner(ours), mailId)).toBe(false)
})

test('mails are purged thirty days after they ended, with and without an organization', async () => {
  const [mine, unowned, later] = [
    await requestPasswordReset([ours]),
    await requestPasswordReset([]),
    await requestPasswordReset([ours]),
  ]
  await service.database.crossTenantQuery(
    'check the database',
    sql`update mails set ended_at = ended_at - interval '30 days' - interval '1 minute'
      where recipient in (${mine.email}, ${unowned.email})`,
  )
  await until('they are purged', async () => {
    const due = await findExpired(service.database, endedMails, { limit: 100, after: undefined })
    if (due.length > 0) await purgeWithoutDependents(service.database, endedMails, due)
    return due.length === 0
  })
  for (const { email } of [mine, unowned]) expect(await mailsOf(service, email)).toEqual([])
  expect(await mailsOf(service, later.email)).toHaveLength(1)
})

test('a dropped mail to an unknown address is purged after a day', async () => {
  const unknownEmail = `${randomUUID()}@example.com`
  await service.anonymous('POST', '/auth/forgot-password', { body: { email: unknownEmail } })
  await until('it is dropped', async () => (await mailOf(service, unknownEmail)).status === 'dropped')
  const age = (hours: number) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`update mails set dropped_at = now() - make_interval(hours => ${hours}) where recipient = ${unknownEmail}`,
    )
  const purge = async () => {
    const due = await findExpired(service.database, droppedMails, { limit: 100, after: undefined })
    if (due.length > 0) await purgeWithoutDependents(service.database, droppedMails, due)
  }
  await age(23)
  await purge()
  expect(await mailsOf(service, unknownEmail)).toHaveLength(1)
  await age(25)
  await until('it is purged', async () => {
    await purge()
    return (await mailsOf(service, unknownEmail)).length === 0
  })
})

test('a mail’s content requires an owner’s recent re-authentication', async () => {
  const { mailId } = await requestPasswordReset([ours])
  const path = `/v5/mails/${mailId}/content`
  const age = (minutes: number) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`update sessions set proved_at = now() - make_interval(mins => ${minutes})
        where user_id = ${decodeId('usr', ours.userId) ?? ''}`,
    )
  await age(6)
  expect(await owner(ours)('GET', path)).toMatchObject({ status: 403, body: { code: 'reauthentication_required' } })
  expect(await readEvents(mailId)).toEqual([])
  await age(0)
  expect((await owner(ours)('GET', path)).status).toBe(200)
})
