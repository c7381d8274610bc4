import type { Schemas } from './client.ts'

type Described = Schemas['ResourceSchema']['resources'][number]
type PlainField = Described['fields'][number]

/** The definition of a custom property, as the description of its resource has it. */
export type Definition = NonNullable<Described['properties']>[number]

/** What a field needs to know of a definition. */
export type DefinedValue = Omit<Definition, 'id' | 'unique' | 'position'>

/** A custom property with a definition, in the form of a field. Its name is a path: `customProperties.<key>`. */
export interface DeclaredField extends Omit<PlainField, 'type'> {
  type: PlainField['type'] | 'money'
  /** Its texts are those of the organization, which nobody translates. */
  declared: {
    /** The labels of all choices, also of archived ones, by their values. */
    choiceLabels: Readonly<Record<string, string>>
    isArchived: boolean
  }
}

/** How a value of each type is shown and edited. */
const fieldTypes = {
  text: 'text',
  number: 'number',
  boolean: 'boolean',
  date: 'date',
  instant: 'timestamp',
  choice: 'choice',
  multiChoice: 'list',
  url: 'url',
  email: 'email',
  phone: 'phone',
  money: 'money',
  reference: 'reference',
} as const satisfies Record<Definition['type'], DeclaredField['type']>

/** A declared property as a field, from which lists, forms and records are derived. */
export function declaredField(definition: DefinedValue): DeclaredField {
  const { key, type, label, description, choices, parts, archived } = definition
  // An amount of money is compared by its number.
  const compared = parts.find(({ name }) => name === 'amount')
  const required = definition.required && !archived
  return {
    name: `customProperties.${key}`,
    label,
    description,
    type: fieldTypes[type],
    required,
    nullable: true,
    clearable: !required,
    readOnly: false,
    inList: true,
    operators: compared?.operators ?? definition.operators,
    sortable: compared !== undefined || definition.sortable,
    indexed: definition.indexed,
    initial: definition.default,
    format: isYearKey(key) ? 'year' : null,
    limits: {},
    choices: isChosenType(type) ? choices.filter((choice) => !choice.archived).map(({ value }) => value) : null,
    reference: definition.reference,
    example: exampleOf(definition),
    declared: {
      choiceLabels: Object.fromEntries(choices.map((choice) => [choice.value, choice.label])),
      isArchived: archived,
    },
  }
}

/** Organizations do not say that a number is a year, except in its key: `foundingYear`. */
export const isYearKey = (key: string): boolean => key.endsWith('Year')

function exampleOf({ type, choices }: DefinedValue): unknown {
  const choice = choices.find(({ archived }) => !archived)?.value
  const examples: Partial<Record<Definition['type'], unknown>> = {
    number: 1,
    boolean: true,
    date: '2026-01-31',
    instant: '2026-01-31T09:00:00Z',
    choice,
    multiChoice: [choice],
    url: 'https://example.com',
    email: 'ada@example.com',
    phone: '+493012345678',
    money: { amount: '1250.50', currency: 'EUR' },
  }
  return examples[type] ?? null
}

export const isChosenType = (type: Definition['type']): boolean => type === 'choice' || type === 'multiChoice'
