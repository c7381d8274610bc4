import { isSame } from '../api/edit.ts'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { Unreadable } from '../ui/use-numbers.ts'
import { changeableValue, changeProperty, type ChangeTexts, recordChanged, refuseText } from './changes.ts'
import type { Property } from './property.ts'

/** Saves the value that an editor ended with, unless it is unchanged. */
export function saveValue(
  resource: ResourceSchema,
  record: RecordData,
  { property, value, shown }: { property: Property; value: unknown; shown: RecordData | undefined },
  texts: ChangeTexts,
): void {
  if (value instanceof Unreadable) return refuseText(property, record, value, texts)
  if (isSame(value, changeableValue(property, record))) return
  const show = (changed: RecordData) => recordChanged(resource, changed)
  void changeProperty(resource, record, { property, value, shown }, show, texts)
}
