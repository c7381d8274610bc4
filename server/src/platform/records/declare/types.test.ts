import { expect, test } from 'vitest'
import type { Create, Row, Update } from './define.ts'
import { writeRoute } from '../../http/route.ts'
import { bodyShape } from '../request/body.ts'
import { RouteGroup } from '../routes/standard-routes.ts'
import { companies } from '../../../crm/companies/resource.ts'
import { companyStore } from '../../../crm/companies/store.ts'
import type { contacts } from '../../../crm/contacts/resource.ts'

/** Checked by the compiler, not at run time. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const assertType = <T extends true>(value: T): T => value

test('row, create and update types follow from the declaration', () => {
  assertType<Equal<Row<typeof contacts>['email'], string | null>>(true)
  assertType<Equal<Row<typeof contacts>['emailOptOut'], boolean>>(true)
  assertType<Equal<Row<typeof contacts>['tags'], string[]>>(true)
  assertType<Equal<Row<typeof companies>['name'], string>>(true)
  assertType<Equal<Create<typeof companies>['name'], string>>(true)
  const update: Update<typeof contacts> = { employmentSeniority: 'c_suite', latitude: null }
  // @ts-expect-error a company needs a name
  const nameless: Create<typeof companies> = { domain: 'example.com' }
  // @ts-expect-error the service creates ids
  const chosen: Update<typeof contacts> = { id: 'con_1' }
  // @ts-expect-error not one of the declared choices
  const unknown: Update<typeof contacts> = { employmentSeniority: 'boss' }
  expect([update, nameless, chosen, unknown]).toHaveLength(4)
  expect(companies.fields.name.required).toBe(true)
})

test('a handler receives the body with the types of its declaration', () => {
  const group = new RouteGroup(companyStore, '/v5/companies')
  const route = writeRoute({
    ...group.changeRoute('create'),
    summary: 'Create a company',
    body: { component: 'CompanyCreate', shape: bodyShape(companies, 'create'), required: true },
    handle: async ({ body }) => {
      assertType<Equal<typeof body.name, string>>(true)
      assertType<Equal<typeof body.tags, string[] | undefined>>(true)
      // @ts-expect-error companies have no such field
      return { status: 201, text: String(body.employees) }
    },
  })
  expect(route.body?.component).toBe('CompanyCreate')
})
