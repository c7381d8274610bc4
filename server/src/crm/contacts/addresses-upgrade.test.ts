import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { onlyOnSingleServer } from '../../../test/single-server.ts'

// What processes of release 0.1.0 send during an upgrade: they know neither `emails` nor `contact_emails`.

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const query = async (text: string) => (await client.query(text)).rows
const organization = '018bcfe5-0000-7000-8000-000000000001'
const [ada, bob, root, otherTeam] = [2, 3, 4, 5].map((number) => organization.replace(/1$/, String(number)))

test('triggers keep further addresses unique and in step with what the previous release writes', async (context) => {
  onlyOnSingleServer(context, 'it has no triggers')
  await query(`
    insert into teams (organization_id, id, name, is_default) values
      ('${organization}', '${organization}', 'One', true), ('${organization}', '${otherTeam}', 'Two', false);
    insert into root_contacts (organization_id, id, email_key, is_further) values ('${organization}', '${root}', 'b@x.example', true);
    insert into contacts (organization_id, id, email, email_key, emails, team_id, root_contact_id) values
      ('${organization}', '${ada}', 'a@x.example', 'a@x.example',
        '[{"primary": true}, {"address": "B@x.example", "key": "b@x.example"}]', '${organization}', '${root}');
    insert into contact_emails values ('${organization}', 'b@x.example', '${organization}', '${ada}')`)
  const insertBob = (email: string) =>
    query(`insert into contacts (organization_id, id, email, email_key, team_id, root_contact_id)
      values ('${organization}', '${bob}', '${email}', '${email}', '${organization}', '${root}')`)
  const update = (id: string | undefined, values: string) => query(`update contacts set ${values} where id = '${id}'`)
  const taken = { code: '23505', constraint: 'contacts_email_unique' }
  await expect(insertBob('b@x.example')).rejects.toMatchObject(taken)
  await insertBob('c@x.example')
  await expect(update(bob, `email = 'b@x.example', email_key = 'b@x.example'`)).rejects.toMatchObject(taken)
  await expect(
    update(bob, `email = 'b@x.example', email_key = 'b@x.example', team_id = '${otherTeam}'`),
  ).resolves.toEqual([])
  await expect(update(bob, `team_id = '${organization}'`)).rejects.toMatchObject(taken)

  await update(ada, 'deleted_at = now()')
  expect(await query('select * from contact_emails')).toEqual([])
  await update(bob, `team_id = '${organization}'`)
  await expect(update(ada, 'deleted_at = null')).rejects.toMatchObject(taken)
  await update(bob, 'deleted_at = now()')
  await update(ada, 'deleted_at = null')
  expect(await query('select contact_id from contact_emails')).toEqual([{ contact_id: ada }])
  await expect(update(bob, 'deleted_at = null')).rejects.toMatchObject(taken)

  // Maintenance of the previous release knows no further addresses.
  await query(`delete from contacts where id = '${bob}'`)
  await query(`insert into root_contacts (organization_id, id) values ('${organization}', '${otherTeam}')`)
  await update(ada, `root_contact_id = '${otherTeam}'`)
  await query(`delete from root_contacts where id = '${root}'`)
  expect(await query(`select id from root_contacts where id = '${root}'`)).toEqual([{ id: root }])
  await update(ada, `team_id = '${otherTeam}'`)
  expect(await query('select team_id from contact_emails')).toEqual([{ team_id: otherTeam }])
})
