/** Programs of API users, one for each generator of clients: the same requests, and the same lines printed. */
export const expectedLines = [
  'created 201 201 201',
  'filtered Ada,Adam',
  'next Adam',
  'changed 200 London',
  'stale 412 precondition_failed',
  'error 409 already_exists email',
  'found Ada',
]

const start = `
const { BASE_URL = '', API_KEY = '', ORGANIZATION = '' } = process.env
const headers = { Authorization: \`Bearer \${API_KEY}\`, 'Service-Organization-ID': ORGANIZATION }
const people = ['Ada', 'Adam', 'Grace']
const bodyOf = (firstName: string) => ({ firstName, email: firstName.toLowerCase() + '@example.com', customProperties: { plan: 'pro' } })
const filters = { 'filter.firstName.startsWith': 'ad', 'filter.createdAt.gte': '2020-01-01', 'filter.customProperties.plan.equals': 'pro' }
const tree = { or: [{ firstName: { equals: 'Ada' } }, { company: { some: { name: { equals: 'none' } } } }] }
const namesOf = (list: readonly { firstName?: string | null }[] = []) => list.map(({ firstName }) => firstName).join()
`

const heyApi = `
import { client } from './hey-api/client.gen'
import { createContact, getContact, listContacts, searchContacts, updateContact } from './hey-api/index'
${start}
client.setConfig({ baseUrl: BASE_URL, headers })
async function main() {
  const statuses: number[] = []
  for (const name of people) statuses.push((await createContact({ body: bodyOf(name) })).response.status)
  console.log('created', ...statuses)
  const query = { filters, orderBy: 'firstName', sort: 'asc', 'select[]': ['id', 'firstName', 'customProperties.plan'] } as const
  const list = await listContacts({ query: { ...query, 'select[]': [...query['select[]']] } })
  console.log('filtered', namesOf(list.data))
  const contactId = list.data?.[0]?.id ?? ''
  console.log('next', namesOf((await listContacts({ query: { filters, orderBy: 'firstName', sort: 'asc', limit: 1, startingAfter: contactId } })).data))
  const etag = (await getContact({ path: { contactId } })).response.headers.get('etag') ?? ''
  const change = () => updateContact({ path: { contactId }, headers: { 'If-Match': etag }, body: { city: 'London' } })
  const changed = await change()
  console.log('changed', changed.response.status, changed.data?.city)
  await updateContact({ path: { contactId }, body: { city: 'Paris' } })
  const stale = await change()
  console.log('stale', stale.response.status, stale.error?.code)
  const twice = await createContact({ body: bodyOf('ADA') })
  console.log('error', twice.response.status, twice.error?.code, twice.error?.details?.[0]?.field)
  console.log('found', namesOf((await searchContacts({ body: { filter: tree, orderBy: 'customProperties.plan' } })).data))
}
void main()
`

const orval = `
import axios from 'axios'
import { createContact, getContact, listContacts, searchContacts, updateContact, type Error as Failure } from './orval'
${start}
axios.defaults.baseURL = BASE_URL
Object.assign(axios.defaults.headers.common, headers)
axios.defaults.validateStatus = () => true
async function main() {
  const statuses: number[] = []
  for (const name of people) statuses.push((await createContact(bodyOf(name))).status)
  console.log('created', ...statuses)
  const list = await listContacts({ filters, orderBy: 'firstName', sort: 'asc', 'select[]': ['id', 'firstName', 'customProperties.plan'] })
  console.log('filtered', namesOf(list.data))
  const contactId = list.data[0]?.id ?? ''
  console.log('next', namesOf((await listContacts({ filters, orderBy: 'firstName', sort: 'asc', limit: 1, startingAfter: contactId })).data))
  const etag = String((await getContact(contactId)).headers.etag)
  const change = () => updateContact(contactId, { city: 'London' }, { headers: { 'If-Match': etag } })
  const changed = await change()
  console.log('changed', changed.status, changed.data.city)
  await updateContact(contactId, { city: 'Paris' })
  const stale = await change()
  console.log('stale', stale.status, (stale.data as unknown as Failure).code)
  const twice = await createContact(bodyOf('ADA'))
  const failure = twice.data as unknown as Failure
  console.log('error', twice.status, failure.code, failure.details?.[0]?.field)
  console.log('found', namesOf((await searchContacts({ filter: tree, orderBy: 'customProperties.plan' })).data))
}
void main()
`

const swaggerTypescriptApi = `
import { Api, type Error as Failure } from './swagger-typescript-api'
${start}
const { v5 } = new Api({ baseURL: BASE_URL, headers, validateStatus: () => true })
async function main() {
  const statuses: number[] = []
  for (const name of people) statuses.push((await v5.createContact(bodyOf(name))).status)
  console.log('created', ...statuses)
  const list = await v5.listContacts({ filters, orderBy: 'firstName', sort: 'asc', 'select[]': ['id', 'firstName', 'customProperties.plan'] })
  console.log('filtered', namesOf(list.data))
  const contactId = list.data[0]?.id ?? ''
  console.log('next', namesOf((await v5.listContacts({ filters, orderBy: 'firstName', sort: 'asc', limit: 1, startingAfter: contactId })).data))
  const etag = String((await v5.getContact(contactId)).headers.etag)
  const change = () => v5.updateContact(contactId, { city: 'London' }, { headers: { 'If-Match': etag } })
  const changed = await change()
  console.log('changed', changed.status, changed.data.city)
  await v5.updateContact(contactId, { city: 'Paris' })
  const stale = await change()
  console.log('stale', stale.status, (stale.data as unknown as Failure).code)
  const twice = await v5.createContact(bodyOf('ADA'))
  const failure = twice.data as unknown as Failure
  console.log('error', twice.status, failure.code, failure.details?.[0]?.field)
  console.log('found', namesOf((await v5.searchContacts({}, { filter: tree, orderBy: 'customProperties.plan' })).data))
}
void main()
`

const openapiClientAxios = `
import { readFileSync } from 'node:fs'
import { OpenAPIClientAxios, type Document } from 'openapi-client-axios'
import type { Client, Components } from './openapi-client-axios'
${start}
type Failure = Components.Schemas.Error
async function main() {
  const definition = JSON.parse(readFileSync(process.env.DOCUMENT ?? '', 'utf8')) as Document
  const api = new OpenAPIClientAxios({ definition, axiosConfigDefaults: { baseURL: BASE_URL, headers, validateStatus: () => true } })
  const client = await api.getClient<Client>()
  const statuses: number[] = []
  for (const name of people) statuses.push((await client.createContact(null, bodyOf(name))).status)
  console.log('created', ...statuses)
  const list = await client.listContacts({ filters, orderBy: 'firstName', sort: 'asc', 'select[]': ['id', 'firstName', 'customProperties.plan'] })
  console.log('filtered', namesOf(list.data))
  const contactId = list.data[0]?.id ?? ''
  console.log('next', namesOf((await client.listContacts({ filters, orderBy: 'firstName', sort: 'asc', limit: 1, startingAfter: contactId })).data))
  const etag = String((await client.getContact({ contactId })).headers.etag)
  const change = () => client.updateContact({ contactId, 'If-Match': etag }, { city: 'London' })
  const changed = await change()
  console.log('changed', changed.status, changed.data.city)
  await client.updateContact({ contactId }, { city: 'Paris' })
  const stale = await change()
  console.log('stale', stale.status, (stale.data as unknown as Failure).code)
  const twice = await client.createContact(null, bodyOf('ADA'))
  const failure = twice.data as unknown as Failure
  console.log('error', twice.status, failure.code, failure.details?.[0]?.field)
  console.log('found', namesOf((await client.searchContacts(null, { filter: tree, orderBy: 'customProperties.plan' })).data))
}
void main()
`

/** By the name of the program's file. */
export const programs: Readonly<Record<string, string>> = {
  'with-hey-api': heyApi,
  'with-orval': orval,
  'with-swagger-typescript-api': swaggerTypescriptApi,
  'with-openapi-client-axios': openapiClientAxios,
}
