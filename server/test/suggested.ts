import type { Database } from '../src/platform/database/database.ts'
import { readId } from '../src/platform/model/ids.ts'
import { analyseByRules } from '../src/resources/suggestions/analysis/analyser.ts'
import type { Analyse } from '../src/resources/suggestions/analysis/analysis.ts'
import { claimNotes } from '../src/resources/suggestions/work/claim-store.ts'
import { storeAnalyses } from '../src/resources/suggestions/work/result-store.ts'
import { until } from './processes.ts'
import type { Json, TestOrganization, TestService } from './service.ts'

/** Analyses the queued notes of an organization (`org_…`), as the workers do. */
export async function analyseQueued(
  database: Database,
  organizationId: string,
  analyse: Analyse = analyseByRules,
): Promise<void> {
  const { signal } = new AbortController()
  const organization = readId('org', organizationId) ?? ''
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
  ['contacts', 'I am very interested. Could you please call me tomorrow at 14:00?'],
  ['companies', 'Können Sie mir bitte die Preisliste schicken?'],
  ['deals', 'No, thanks. We are not interested.'],
] as const

/**
 * Creates a suggestion like others, on records of the organization; the first two stay pending. `path`: that of a list
 * with a suggestion or its analysis.
 */
export async function createSuggestion(service: TestService, target: Target, path: string): Promise<string> {
  const { call } = target
  const { count } = (await call('GET', '/v5/suggestions/count')).body
  const [parent, text] = texts[count % texts.length] ?? texts[0]
  const [record] = (await call('GET', `/v5/${parent}?limit=1`)).body
  const note = await analysedNote(service, target, `/v5/${parent}/${record.id}/notes`, text)
  const [suggestion] = (await call('GET', `/v5/suggestions?noteId=${note.id}`)).body
  if (count % 4 === 2) await call('POST', `/v5/suggestions/${suggestion.id}/reject`, { body: { reason: 'not now' } })
  if (count % 4 === 3) await call('POST', `/v5/suggestions/${suggestion.id}/accept`, { body: { title: 'Do it' } })
  return (await call('GET', `${path}?noteId=${note.id}`)).body[0].id
}
