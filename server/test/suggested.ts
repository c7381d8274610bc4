import type { Database } from '../src/platform/database/database.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { analyseByRules } from '../src/assistant/analysis/local-rules.ts'
import type { Analyse } from '../src/assistant/analysis/analysis.ts'
import { claimNotes } from '../src/assistant/work/claim-store.ts'
import { storeAnalyses } from '../src/assistant/work/result-store.ts'
import { until } from './processes.ts'
import type { References } from './samples.ts'
import type { Call, Json, TestOrganization, TestService } from './service.ts'
import type { Fixture } from './fixture.ts'

/** Analyses the queued notes of an organization (`org_…`), as the workers do. */
export async function analyseQueued(
  database: Database,
  organizationId: string,
  analyse: Analyse = analyseByRules,
): Promise<void> {
  const { signal } = new AbortController()
  const organization = decodeId('org', organizationId) ?? ''
  for (;;) {
    const claim = await claimNotes(database, organization, { maxNotes: 100, leaseSeconds: 60 })
    if (claim.notes.length === 0) return
    const analysed = await Promise.all(
      claim.notes.map(async (note) => ({
        note,
        analysis: await analyse({ organizationId: organization, text: note.text }, note.facts, signal),
      })),
    )
    await storeAnalyses(database, claim, analysed)
  }
}

type Target = Pick<TestOrganization, 'call' | 'organizationId'>

/** Creates a note at this path (`/v5/contacts/con_…/notes`); resolves once it is analysed, by workers if there are any. */
export async function analysedNote(
  { database }: Pick<TestService, 'database'>,
  { call, organizationId }: Target,
  path: string,
  body: string,
): Promise<Json> {
  const { body: note, text } = await call('POST', path, { body: { body } })
  if (note.id === undefined) throw new Error(`The note was not created: ${text}`)
  await until('the note is analysed', async () => {
    await analyseQueued(database, organizationId)
    return (await call('GET', `/v5/notes/${note.id}`)).body.reasoningQueuedAt === null
  })
  return note
}

const texts = [
  ['contacts', 'con', 'I am very interested. Could you please call me tomorrow at 14:00?'],
  ['companies', 'com', 'Können Sie mir bitte die Preisliste schicken?'],
  ['deals', 'del', 'No, thanks. We are not interested.'],
] as const

/**
 * Creates a pending suggestion, by default on the oldest records of the organization. `path`: that of a list with it or
 * its analysis.
 */
export async function createSuggestion(
  service: TestService,
  target: Target,
  path: string,
  references: References = {},
): Promise<string> {
  const { call } = target
  const { count } = (await call('GET', '/v5/suggestions/count')).body
  const [parent, prefix, text] = texts[count % texts.length] ?? texts[0]
  const known = references[prefix]?.[1]
  const id = known ?? (await call('GET', `/v5/${parent}?limit=1&orderBy=createdAt&sort=asc`)).body[0].id
  const note = await analysedNote(service, target, `/v5/${parent}/${id}/notes`, text)
  if (path === '/v5/suggestions' && count > 1) await decideOldest(call, count)
  return (await call('GET', `${path}?noteId=${note.id}`)).body[0].id
}

/** Decides another suggestion, so that they differ. */
async function decideOldest(call: Call, number: number): Promise<void> {
  const pending = '/v5/suggestions?limit=1&sort=asc&status=pending&filter.type.in=call,reply'
  const [oldest] = (await call('GET', pending)).body
  if (!oldest) return
  const { id, type } = oldest
  const decision = `/v5/suggestions/${id}`
  if (number % 2 === 0) await call('POST', `${decision}/reject`, { body: { reason: `no ${type}` } })
  else await call('POST', `${decision}/accept`, { body: { title: `Do it: ${type}` } })
}

/** Creates a record of this list, which has suggestions or analyses, about the records of a fixture. */
export const suggestionIn =
  (path: string) =>
  ({ service, organization, references }: Pick<Fixture, 'service' | 'organization' | 'references'>): Promise<string> =>
    createSuggestion(service, organization, path, references)
