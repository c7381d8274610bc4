import { sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'
import type { Json, TestOrganization as Organization, TestService } from './service.ts'
import { newImport, type TestImport } from './pushes.ts'

type TestOrganization = Pick<Organization, 'call'>

/** The refused pushes of an import as the API shows them, newest first. */
export const refusedOf = async ({ call }: TestOrganization, { importId }: TestImport): Promise<Json[]> =>
  (await call('GET', `/v5/imports/${importId}/refused-pushes?limit=100`)).body

/** The same once there are this many: they are stored after the response. */
export async function refusedOnce(organization: TestOrganization, target: TestImport, count: number): Promise<Json[]> {
  const path = `/v5/imports/${target.importId}/refused-pushes/count`
  await until(`${count} refused pushes`, async () => (await organization.call('GET', path)).body.count === count)
  return refusedOf(organization, target)
}

export const refusedPath = ({ importId }: TestImport, id?: string): string =>
  `/v5/imports/${importId}/refused-pushes${id === undefined ? '' : `/${id}`}`

/** What an import says about its refused pushes. */
export const refusedIn = async ({ call }: TestOrganization, { importId }: TestImport): Promise<Json> =>
  (await call('GET', `/v5/imports/${importId}`)).body.refused

export const storedCount = async (service: TestService, { uuid }: TestImport): Promise<number> => {
  const [row] = await service.database.crossTenantQuery<{ count: number }>(
    'check the database',
    sql`select count(*)::int as count from refused_pushes where import_id = ${uuid}::uuid`,
  )
  return row?.count ?? 0
}

/** A push that was refused and stored; returns its path, with a body that contains this text. */
export async function storeRefusal(
  service: TestService,
  organization: TestOrganization,
  text: string,
): Promise<string> {
  const target = await newImport(service, organization)
  await target.push({ contact: { note: text } })
  const [refused] = await refusedOnce(organization, target, 1)
  return refusedPath(target, refused.id)
}
