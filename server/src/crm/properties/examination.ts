import type { Transaction } from '../../platform/database/database.ts'
import { WorkNeeded, type WorkTools } from '../../platform/database/work-needed.ts'
import type { Actor } from '../../platform/model/caller.ts'
import { ApiError } from '../../platform/model/errors.ts'
import {
  examineChanged,
  type Examination,
  examineNext,
  joined,
  maxExamples,
  noneStored,
  startOfUnseenChanges,
  type Step,
  type StoredValues,
} from './stored-values-store.ts'

/** Records per statement: about a tenth of a second. */
const stepSize = 10_000
/** For so many milliseconds a request examines records. */
const maxDuration = 90_000
const zeroId = '00000000-0000-0000-0000-000000000000'

interface Examined {
  found: StoredValues
  /** Records changed since this instant have to be examined again. */
  since: string
}

/** What was examined for a request, by its copy of the caller and by examination. */
const examined = new WeakMap<Actor, Map<string, Examined>>()

/** What records have, as examined before the transaction without any lock. Throws `WorkNeeded` for that. */
export function examineRecords({ actor }: Transaction, examination: Examination): Examined {
  const result = examined.get(actor)?.get(keyOf(examination))
  if (!result) throw new WorkNeeded((tools, copy) => examineInSteps(tools, copy, examination))
  return result
}

/** The same for a change of definitions whose set is locked: if everything fits, also examines what changed meanwhile. */
export async function examineAllRecords(transaction: Transaction, examination: Examination): Promise<StoredValues> {
  const { found, since } = examineRecords(transaction, examination)
  return found.unfit + found.removed > 0 ? found : examineChanged(transaction, examination, since)
}

const keyOf = ({ resource, definition: { key, type, choices, references }, checksFit, removed }: Examination): string =>
  JSON.stringify([
    ...[resource.name, key, type, references?.resource, checksFit, removed],
    choices.map(({ value }) => value),
  ])

async function examineInSteps(
  { database, queryLimiter }: WorkTools,
  actor: Actor,
  examination: Examination,
): Promise<void> {
  const deadline = performance.now() + maxDuration
  const db = database.reader(actor)
  const since = await startOfUnseenChanges(db)
  let found = noneStored
  let last: string | undefined = zeroId
  while (last !== undefined) {
    const next: Step = { after: last, limit: stepSize, examples: maxExamples - found.examples.length }
    const step = await queryLimiter.run(actor.organizationId, () => examineNext(db, examination, next))
    found = joined(found, step.found)
    last = step.last
    if (performance.now() > deadline) throw tooLong()
  }
  const known = examined.get(actor) ?? new Map<string, Examined>()
  examined.set(actor, known.set(keyOf(examination), { found, since }))
}

const tooLong = (): ApiError =>
  new ApiError(
    'timeout',
    'Examining the values of all records took too long. Try again when the service is less busy.',
    {
      headers: { 'retry-after': '60' },
    },
  )
