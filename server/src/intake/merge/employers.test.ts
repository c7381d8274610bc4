import { afterAll, beforeAll, expect, test } from 'vitest'
import { pushesOf } from '../../../test/processed-pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const contact = { email: 'ada@example.com' }
const jobsAt = ({ call }: TestOrganization, contactId: string | null | undefined): Promise<Json[]> =>
  call('GET', `/v5/contacts/${contactId}/employments?orderBy=organization&sort=asc`).then(({ body }) => body)

test('the jobs of a push get the company of the row if they have its name or brand name', async () => {
  const organization = await service.newOrganization()
  const history = ['ACME  Engines Ltd', 'Acmé', 'Babbage'].map((name) => ({ organization: name }))
  const company = { name: 'Acme Engines Ltd', nickname: 'ACME' }
  const push = pushesOf(service, organization)
  const [row] = await push({ contact, employment: { history }, company })
  const jobs = await jobsAt(organization, row?.contactId)
  expect(jobs.map((job) => [job.organization, job.companyId])).toEqual([
    ['Acmé', row?.companyId],
    ['ACME  Engines Ltd', row?.companyId],
    ['Babbage', null],
  ])
  const created = row?.changes.filter(({ object, after }) => object === 'employment' && after.companyId !== undefined)
  expect(created).toHaveLength(2)
  expect((await push({ contact, employment: { history }, company }))[0]?.status).toBe('DUPLICATE')
})

test.each(['fill', 'overwrite'])('an existing job without a company gets it later, with %s', async (mergePolicy) => {
  const organization = await service.newOrganization()
  const { call, importId } = organization
  await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy } })
  const push = pushesOf(service, organization)
  const employment = { history: [{ organization: 'Acme', end: '2020-01' }] }
  const [first] = await push({ contact, employment })
  const [second] = await push({ contact, employment, company: 'Acme' })
  expect([first?.status, second?.status]).toEqual(['PROCESSED', 'PROCESSED'])
  expect(second?.changes.find(({ object }) => object === 'employment')).toMatchObject({
    action: 'updated',
    before: { companyId: null },
    after: { companyId: second?.companyId },
  })
  const [job] = await jobsAt(organization, first?.contactId)
  expect(job?.companyId).toBe(second?.companyId)
  // What a person has cleared stays so.
  await call('PATCH', `/v5/contacts/${first?.contactId}/employments/${job?.id}`, { body: { companyId: null } })
  const [third] = await push({ contact, employment, company: 'Acme' })
  expect(third?.status).toBe('DUPLICATE')
  expect((await jobsAt(organization, first?.contactId))[0]?.companyId).toBeNull()
})

test('leads in one batch have the same result as one after the other', async () => {
  const results = await Promise.all(
    ['in one batch', 'one by one'].map(async (order) => {
      const organization = await service.newOrganization()
      const push = pushesOf(service, organization)
      const history = [{ organization: 'Acme', title: 'Analyst' }]
      const leads = [
        { contact, employment: { history } },
        { contact, employment: { history }, company: { domain: 'acme.example' } },
        { contact, employment: { history }, company: { name: 'acme', domain: 'acme.example' } },
      ]
      if (order === 'in one batch') await push(...leads)
      else for (const lead of leads) await push(lead)
      const { body } = await organization.call('GET', '/v5/employments')
      return body.map(({ title, company }: Json) => [title, company?.domain ?? null])
    }),
  )
  expect(results[0]).toEqual(results[1])
})

test('a company that an import created stays while somebody else’s contact works there', async () => {
  const organization = await service.newOrganization()
  const { call, importId } = organization
  const push = pushesOf(service, organization)
  const employment = { history: [{ organization: 'Acme' }] }
  const [row] = await push({ contact, employment, company: 'Acme' })
  const [other] = await push({ contact: { email: 'bob@example.com' }, employment, company: 'Babbage' })
  const { body: mine } = await call('POST', '/v5/contacts', { body: { name: 'Mine' } })
  const body = { organization: 'Acme', companyId: row?.companyId }
  await call('POST', `/v5/contacts/${mine.id}/employments`, { body })
  await call('POST', `/v5/imports/${importId}/disable`)
  for (const body of [{ dryRun: true }, {}]) {
    const removed = await call('POST', `/v5/imports/${importId}/remove-received`, { body })
    expect(removed.body).toMatchObject({ contacts: 2, companies: 1, remaining: 0 })
  }
  expect((await call('GET', `/v5/companies/${row?.companyId}`)).status).toBe(200)
  expect((await call('GET', `/v5/companies/${other?.companyId}`)).status).toBe(404)
})
