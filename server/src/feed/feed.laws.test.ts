import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectComplete, expectOutcomes, expectPlaced } from '../../test/feed-audit.ts'
import { isIdle } from '../../test/feed-crashes.ts'
import { expectSameRecords, FeedCopy } from '../../test/feed-copy.ts'
import { FeedProgram, persistent } from '../../test/feed-program.ts'
import { type FeedReader, numberOf, readPages, readStream } from '../../test/feed-readers.ts'
import { randomOf } from '../../test/import-payloads.ts'
import { callAs } from '../../test/people.ts'
import { until } from '../../test/processes.ts'
import { runsOf, seed } from '../../test/seed.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '2', REASONING_CONCURRENCY: '1' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const writers = 16

/** A reader of all events, or of those that `matches` selects. */
interface Followed {
  reader: FeedReader
  matches: (event: Json) => boolean
}

function startReaders({ call, apiKey, organizationId }: TestOrganization): readonly [Followed, ...Followed[]] {
  const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
  const everything = () => true
  return [
    { reader: readPages(call, { limit: 1000, wait: 2 }), matches: everything },
    { reader: readPages(call, { limit: 7, wait: 25 }), matches: everything },
    { reader: readPages(call, { limit: 100, wait: 0 }), matches: everything },
    { reader: readStream(() => service.url, headers), matches: everything },
    {
      reader: readPages(call, { limit: 3, wait: 1, query: '&resource=contact,deal' }),
      matches: ({ resource }) => ['contact', 'deal'].includes(resource),
    },
    {
      reader: readPages(call, { limit: 50, wait: 1, query: '&kind=deleted,moved' }),
      matches: ({ kind }) => ['deleted', 'moved'].includes(kind),
    },
    {
      reader: readStream(() => service.url, headers, '?resource=note&kind=created'),
      matches: ({ type }) => type === 'note.created',
    },
  ]
}

test('readers that follow sixteen writers all see the same order, in which each change is once, and rebuild every record', async () => {
  const { call, accessToken, organizationId } = organization
  const program = new FeedProgram()
  const bySession = callAs(service, accessToken)
  await program.prepare(persistent(call), organization.triggerUrl)
  const readers = startReaders(organization)
  await Promise.all(
    Array.from({ length: writers }, (_, index) =>
      program.write(persistent(index % 2 === 0 ? call : bySession), randomOf(seed + index), runsOf(15)),
    ),
  )
  await until('all work is done', () => isIdle(service, organization), 60_000)
  // It wakes those that wait.
  await call('POST', '/v5/campaigns', { body: { name: 'The end' } })
  const { position } = (await call('GET', '/v5/events/position')).body
  const [{ reader: first }] = readers
  await first.finish(position, numberOf(position))
  await Promise.all(readers.map(({ reader, matches }) => reader.finish(position, first.events.filter(matches).length)))
  for (const { reader, matches } of readers) expect(reader.events).toEqual(first.events.filter(matches))
  expectComplete(first.events)
  expectOutcomes(first.events, program.outcomes)
  await expectPlaced(service.database, organizationId)
  const copy = new FeedCopy()
  await copy.follow(call)
  expect(await expectSameRecords(copy, service.database, organizationId)).toBeGreaterThan(50)
})
