import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, valueAt } from '../api/schema.ts'
import { queryClient, whenForgetting } from '../api/query-client.ts'
import { refusalText } from '../messages/refusals.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { notify, notifyError, notifyUnreachable } from '../ui/toast.tsx'
import type { Unreadable } from '../ui/use-numbers.ts'
import type { Property } from './columns.tsx'

/** The last changes, newest at the end: what Ctrl+Z takes back. */
const undoable: (() => void)[] = []
const maxUndoable = 50
whenForgetting(() => undoable.splice(0))

/** Offers to take a change back, in a toast and with Ctrl+Z; either works once. */
export function offerUndo(title: string, undo: () => void): void {
  const once = () => {
    const index = undoable.indexOf(once)
    if (index === -1) return
    undoable.splice(index, 1)
    undo()
  }
  undoable.push(once)
  if (undoable.length > maxUndoable) undoable.shift()
  notify(title, { undo: once })
}

/** Ctrl+Z on pages whose changes can be undone. */
export function useUndoShortcut(): void {
  const t = useTranslations('list')
  useShortcuts([{ keys: 'Mod+Z', label: t('undoLast'), run: () => undoable.at(-1)?.() }])
}

/** The body of a PATCH that sets one property. */
export function changeOf(property: Property, value: unknown): Record<string, unknown> {
  const [name = '', ...path] = (property.field?.name ?? property.name).split('.')
  return { [name]: path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) }
}

/** The body of a POST or PATCH that sets several properties; the custom ones share an object. */
export function bodyOf(values: readonly (readonly [Property, unknown])[]): Record<string, unknown> {
  const changes = values.map(([property, value]) => changeOf(property, value))
  const custom = changes.flatMap(({ customProperties }) => customProperties ?? [])
  return Object.assign({}, ...changes, custom.length > 0 && { customProperties: Object.assign({}, ...custom) })
}

/** The value that a change of a property would send now: for an embedded record, its id. */
export const changeableValue = (property: Property, record: RecordData): unknown =>
  property.type === 'embedded' ? valueAt(record, property.field?.name ?? '') : (valueAt(record, property.name) ?? null)

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

export interface ChangeTexts {
  saved: string
  undone: string
  failed: string
  /** Where what the person entered is. */
  kept: string
  /** Why Undo refuses: the value is not the one that was saved. */
  changedMeanwhile: string
}

/** Values that could not be saved: nobody should have to enter a long text twice. */
const unsaved = new Map<string, unknown>()
whenForgetting(() => unsaved.clear())

const placeOf = (property: Property, record: RecordData): string => `${record.id} ${property.name}`

/** The value with which editing begins: the one that could not be saved before, otherwise the stored one. */
export function valueToEdit(property: Property, record: RecordData): unknown {
  const place = placeOf(property, record)
  return unsaved.has(place) ? unsaved.get(place) : changeableValue(property, record)
}

/** Called when editing ends: from now on, the stored value counts. */
export const forgetUnsaved = (property: Property, record: RecordData): void =>
  void unsaved.delete(placeOf(property, record))

/** Reports text that is no value; it is there when the person edits the property again. */
export function refuseText(property: Property, record: RecordData, text: Unreadable, texts: ChangeTexts): void {
  unsaved.set(placeOf(property, record), text)
  notifyError(texts.failed, `${text.problem}\n${texts.kept}`)
}

/** Called with the record as it is shown now, then as the service has it. */
type ShowRecord = (record: RecordData) => void

/**
 * Changes one property: the new value shows at once, the old one comes back if the service refuses. Undo restores it
 * unless someone else has changed the property meanwhile.
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
  const names = [property.name, property.field?.name]
  show(withValue(record, property, value, shown))
  try {
    const { body } = await send<RecordData>('PATCH', path, { body: changeOf(property, value) })
    show(body)
    recordChanged(resource, body)
    offerUndo(texts.saved, () => void undo(changeableValue(property, body)))
  } catch (error) {
    show(record)
    unsaved.set(placeOf(property, record), value)
    reportFailure(texts.failed, error, { advice: texts.kept, titled: names })
  }

  async function undo(saved: unknown): Promise<void> {
    try {
      const { body: current, etag } = await send<RecordData>('GET', path)
      if (!isSame(changeableValue(property, current), saved)) return notifyError(texts.failed, texts.changedMeanwhile)
      const options = { body: changeOf(property, before), ...(etag !== undefined && { ifMatch: etag }) }
      const { body } = await send<RecordData>('PATCH', path, options)
      show(body)
      recordChanged(resource, body)
      notify(texts.undone)
    } catch (error) {
      reportFailure(texts.failed, error, { titled: names })
    }
  }
}

/** A copy with a value at a property's path; for an embedded record, `shown` is that record. */
function withValue(record: RecordData, property: Property, value: unknown, shown: unknown): RecordData {
  if (property.type === 'embedded')
    return { ...record, [property.field?.name ?? '']: value, [property.name]: shown ?? null }
  const [name = '', key] = property.name.split('.')
  if (key === undefined) return { ...record, [name]: value }
  return { ...record, [name]: { ...(record[name] as Record<string, unknown>), [key]: value } }
}

/** Lets everything that shows the record know. */
export function recordChanged(resource: ResourceSchema, record: RecordData): void {
  queryClient.setQueryData(['record', resource.name, record.id], record)
  for (const listener of listeners) listener(resource, record)
}

type ChangeListener = (resource: ResourceSchema, record: RecordData) => void
const listeners = new Set<ChangeListener>()

/** Calls the listener with each record that this page changed, until it is removed. */
export function onRecordChanged(listener: ChangeListener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Says which field was refused and why, and then `advice`. A field that the title names already is not repeated. */
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
