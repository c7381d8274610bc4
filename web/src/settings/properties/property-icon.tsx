import { declaredField, type DefinedValue } from '../../api/declared-field.ts'
import { fieldProperty, PropertyIcon } from '../../views/columns.tsx'
import type { PropertyType } from './definitions.ts'
import type { Property } from '../../views/property.ts'

/** The property that a definition creates. */
export const propertyFor = (definition: Partial<DefinedValue> & Pick<DefinedValue, 'type'>): Property =>
  fieldProperty(declaredField({ ...blank, ...definition }))

const blank: Omit<DefinedValue, 'type'> = {
  key: '',
  label: '',
  description: null,
  choices: [],
  reference: null,
  required: false,
  default: null,
  indexed: false,
  archived: false,
  operators: [],
  sortable: false,
  parts: [],
}

/** The icon of a type, as in lists. */
export const TypeIcon = ({ type }: { type: PropertyType }) => <PropertyIcon property={propertyFor({ type })} />
