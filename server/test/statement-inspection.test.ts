import { expect, test } from 'vitest'
import { violationsOf } from './statement-inspection.ts'

test.each([
  ['select 1 from contacts join members on members.user_id = contacts.owner_id', 'members and contacts'],
  ['with people as (select id from users) update notes set text = null from people', 'users and notes'],
  ['insert into team_members select id from teams', 'team_members and teams'],
  ['delete from imports where exists (select from public.import_triggers)', 'imports'],
  ['select (select name from organizations), id from deal_timeline_entries', 'deal_timeline_entries'],
  ['merge into teams using members on true when matched then delete', 'members and teams'],
])('%s is a statement of both places', (text, named) => {
  const [violation] = violationsOf(text)
  expect(violation).toMatch('both places')
  expect(violation).toMatch(named)
})

test.each([
  `select credential.live, result.* from (select exists (select from sessions) as live) credential
   left join (select id from contacts) result on true`,
  `with credential as materialized (select exists (select from members) as live), stored as (insert into notes default values)
   select live from credential`,
  `select 'members' from contacts`,
  'select members.id from contacts members',
  'with users as (select 1) select * from users',
  'select row_to_json(shown) from (select id from contacts) shown',
])('%s breaks no rule', (text) => {
  expect(violationsOf(text)).toEqual([])
})

test.each([
  ['with recursive next as (select 1 union all select 2 from next) select from next', 'is recursive'],
  [`select pg_advisory_xact_lock(hashtextextended('set-up', 0))`, 'advisory lock'],
  ['select json_agg(row_to_json(contacts)) from contacts', 'row_to_json(contacts)'],
  ['select row_to_json(one) from notes one', 'row_to_json(one)'],
])('%s is refused', (text, reason) => {
  expect(violationsOf(text).join()).toMatch(reason)
})

test('a query that depends on a credential only outside of its check is a statement of both places', () => {
  const outside = 'select from (select true as live) credential join sessions on true join contacts on true'
  expect(violationsOf(outside)).toHaveLength(1)
})
