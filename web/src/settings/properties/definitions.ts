import { change } from '../../access/act.ts'
import { type Schemas, send } from '../../api/client.ts'
import type { Definition } from '../../api/declared-field.ts'
import { editOf, sendEdit, type Values } from '../../api/edit.ts'
import { schemaChanged } from '../../api/schema.ts'

export const path = '/v5/properties'

/** The resources that can have custom properties. */
export const definable = ['contacts', 'companies', 'deals'] as const
export type Definable = (typeof definable)[number]

/** The resources that a reference property can point to. */
export const referable = [...definable, 'members'] as const

export const propertyTypes = [
  'text',
  'number',
  'money',
  'boolean',
  'date',
  'instant',
  'choice',
  'multiChoice',
  'email',
  'phone',
  'url',
  'reference',
] as const satisfies readonly Definition['type'][]
export type PropertyType = (typeof propertyTypes)[number]

export type Choice = Definition['choices'][number]

/** Types whose values cannot be unique. */
const neverUnique: readonly PropertyType[] = ['boolean', 'multiChoice', 'money']
export const canBeUnique = (type: PropertyType): boolean => !neverUnique.includes(type)

/** Checks the existing values at the key of a new definition, without creating it. */
export const checkDefinition = async (body: object): Promise<Schemas['PropertyCheck']> =>
  (await send<Schemas['PropertyCheck']>('POST', path, { query: new URLSearchParams({ dryRun: 'true' }), body })).body

/** Changes definitions, and updates everything that shows them. Rejects like a form's `onSubmit`. */
export async function changeDefinitions<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await change(['properties'], action)
  } finally {
    await schemaChanged()
  }
}

export const updateDefinition = (seen: Definition, values: Values): Promise<unknown> =>
  changeDefinitions(() => sendEdit({ ...editOf('properties', seen), values }))
