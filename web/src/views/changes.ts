import { ChangesMeanwhile } from '../api/changes-meanwhile.ts'
import { ApiError } from '../api/error.ts'
import { send } from '../api/client.ts'
import { bodyOf as bodyOfPaths, isOutdated, isSame, mergeLists, sendEdit } from '../api/edit.ts'
import { addressListOf, type RecordData, type ResourceSchema, valueAt } from '../api/schema.ts'
import { queryClient } from '../api/query-client.ts'
import { refusalText } from '../messages/refusals.ts'
import { readJsonDraft, storeDraft } from '../preferences/drafts.ts'
import { offerUndo } from '../ui/undo.ts'
import { notify, notifyError, notifyUnreachable } from '../ui/toast.tsx'
import { Unreadable } from '../ui/use-numbers.ts'
import { withValue } from './with-value.ts'
import type { Property } from './property.ts'

/** The path that a change of a property writes. */
export const changeablePath = ({ name, field }: Property): string => field?.name ?? name

/** The body of a POST that sets several properties; custom properties share an object. */
export const bodyOf = (values: readonly (readonly [Property, unknown])[]): Record<string, unknown> =>
  bodyOfPaths(values.map(([property, value]) => [changeablePath(property), value]))

/** The current value of what a change of the property would write: for an embedded record, its id. */
export const changeableValue = (property: Property, record: RecordData): unknown =>
  property.type === 'embedded' ? valueAt(record, property.field?.name ?? '') : (valueAt(record, property.name) ?? null)

export interface ChangeTexts {
  saved: string
  /** Shown if others have changed the list too; it has both changes. */
  merged: string
  undone: string
  failed: string
  /** Says where the person's input is. */
  kept: string
  /** Why Undo refuses: the value has changed since it was saved. */
  changedMeanwhile: string
}

/** Values that are not saved yet or were refused, so that nobody has to enter a long text twice. */
const draftOf = (property: Property, record: RecordData): string => `value ${record.id} ${property.name}`

const keepUnsaved = (property: Property, record: RecordData, value: unknown): void =>
  storeDraft(draftOf(property, record), JSON.stringify(value ?? null))

/** The initial value of an editor: the one that could not be saved, otherwise the stored one. */
export function valueToEdit(property: Property, record: RecordData): unknown {
  const unsaved = readJsonDraft(draftOf(property, record))
  if (unsaved === undefined) return changeableValue(property, record)
  return isUnreadable(unsaved) ? new Unreadable(unsaved.entered, unsaved.problem) : unsaved
}

const isUnreadable = (value: unknown): value is Unreadable =>
  typeof value === 'object' && value !== null && 'entered' in value && 'problem' in value

export const hasUnsaved = (property: Property, record: RecordData): boolean =>
  readJsonDraft(draftOf(property, record)) !== undefined

/** Called when editing ends: from now on, the stored value applies. */
export const forgetUnsaved = (property: Property, record: RecordData): void =>
  storeDraft(draftOf(property, record), undefined)

/** Reports invalid text, and stores it for the next edit of the property. */
export function refuseText(property: Property, record: RecordData, text: Unreadable, texts: ChangeTexts): void {
  keepUnsaved(property, record, text)
  notifyError(texts.failed, `${text.problem}\n${texts.kept}`)
}

/** Called with the record as it will be, then with the service's response. */
type ShowRecord = (record: RecordData) => void

/**
 * Changes one property. The new value shows at once; the old one returns if the service refuses. If somebody else has
 * changed the property meanwhile, lists are merged; otherwise the person chooses. Undo restores the old value, but
 * never overwrites someone else's.
 */
export async function changeProperty(
  resource: ResourceSchema,
  record: RecordData,
  { property, value, shown }: { property: Property; value: unknown; shown?: unknown },
  show: ShowRecord,
  texts: ChangeTexts,
): Promise<void> {
  const path = `${resource.path}/${record.id}`
  const before = changeableValue(property, record)
  const field = changeablePath(property)
  const names = [property.name, field]
  const store = (name: string, seen: unknown, wanted: unknown) =>
    sendEdit({ path, resource: resource.name, seen: bodyOfPaths([[name, seen]]), values: { [name]: wanted }, shown })
  keepUnsaved(property, record, value)
  show(withValue(record, property, value, shown))
  try {
    const { body, isMerged } = await store(field, before, value)
    forgetUnsaved(property, record)
    show(body)
    recordChanged(resource, body)
    const saved = changeableValue(property, body)
    // The person may have accepted the other value.
    if (isMerged || isSame(saved, value)) offerUndo(isMerged ? texts.merged : texts.saved, () => undo(value, body))
  } catch (error) {
    // If the person did not choose, show what somebody else has saved.
    show(isOutdated(error) ? (await send<RecordData>('GET', path)).body : record)
    reportFailure(texts.failed, error, { advice: texts.kept, titled: names })
  }

  async function undo(saved: unknown, stored: RecordData): Promise<void> {
    try {
      const { body: current } = await send<RecordData>('GET', path)
      const list = replacedList(resource, field, record)
      const [name, mine, former, now] = list
        ? [list.name, stored[list.name], list.entries, current[list.name]]
        : [field, saved, before, changeableValue(property, current)]
      if (!isSame(now, mine) && (await mergeLists(mine, former, now)) === undefined)
        return notifyError(texts.failed, texts.changedMeanwhile)
      const { body } = await store(name, mine, former)
      show(body)
      recordChanged(resource, body)
      notify(texts.undone)
    } catch (error) {
      reportFailure(texts.failed, error, { titled: names })
    }
  }
}

/**
 * The list of a primary address, if it has others: one that takes its place leaves the list, so Undo restores all. Only
 * the service says which ones mails could not be delivered to.
 */
function replacedList(resource: ResourceSchema, field: string, record: RecordData) {
  const name = addressListOf(resource, field)
  const entries = name === undefined ? undefined : record[name]
  if (name === undefined || !Array.isArray(entries) || entries.length < 2) return undefined
  return { name, entries: entries.map((entry: object) => ({ ...entry, bouncedAt: undefined })) }
}

/** Reads of single records: an answer from before a change that this page shows does not contain it. */
export const recordReads = new ChangesMeanwhile<RecordData>()

/** Shows the record everywhere as it is after a change. */
export function recordChanged(resource: ResourceSchema, record: RecordData): void {
  recordReads.add((read) => (read.id === record.id ? record : read))
  queryClient.setQueryData(['record', resource.name, record.id], record)
  for (const listener of listeners) listener(resource, record)
}

type ChangeListener = (resource: ResourceSchema, record: RecordData) => void
const listeners = new Set<ChangeListener>()

/** Calls the listener with each record that this page changes. Returns a function that removes it. */
export function onRecordChanged(listener: ChangeListener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Says which field was refused and why, followed by `advice`. Omits the field if the title already names it. */
export function reportFailure(
  title: string,
  error: unknown,
  { advice, titled = [] }: { advice?: string; titled?: readonly (string | undefined)[] } = {},
): void {
  if (!(error instanceof ApiError)) return notifyUnreachable(title, advice)
  const { details, description } = error
  const reasons = details.map(({ field, message }) =>
    titled.includes(field) ? capitalized(refusalText(message)) : `${field}: ${refusalText(message)}`,
  )
  const lines = reasons.length === 0 ? [description] : reasons
  notifyError(title, [...lines, ...(advice === undefined ? [] : [advice])].join('\n'))
}

const capitalized = (message: string): string => message.charAt(0).toUpperCase() + message.slice(1)
