import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId, readId } from '../../platform/model/ids.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { isDistributed } from '../../../test/engines.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const migration = new URL('../../../migrations/0035_audit_action_names.sql', import.meta.url)

// The migration switches off a trigger, and runs before a database is distributed.
test.skipIf(isDistributed())(
  'events with the former name of an action get its new name, and the log stays append-only',
  async () => {
    const { organizationId, call } = await service.newOrganization()
    const names = {
      'proof.given': newId(),
      'proof.failed': newId(),
      'session.misused': newId(),
      'team.created': newId(),
    }
    for (const [action, id] of Object.entries(names)) {
      await service.database.crossTenantQuery(
        'check the database',
        sql`insert into audit_events (organization_id, id, action, actor_kind)
        values (${readId('org', organizationId)}::uuid, ${id}::uuid, ${action}, 'command')`,
      )
    }
    await service.database.crossTenantQuery('check the database', raw(await readFile(migration, 'utf8')))
    const { body } = await call('GET', '/v5/audit-log?filter.actorKind.equals=command&orderBy=id&sort=asc')
    const actions = (body as { id: string; action: string }[])
      .filter(({ id }) => Object.values(names).includes(readId('evt', id) ?? ''))
      .map(({ action }) => action)
    expect(actions).toEqual([
      'reauthentication.succeeded',
      'reauthentication.failed',
      'session.token-reused',
      'team.created',
    ])
    const change = service.database.crossTenantQuery(
      'check the database',
      raw(`update audit_events set action = 'team.updated'`),
    )
    await expect(change).rejects.toThrow('append-only')
  },
)
