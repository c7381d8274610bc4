import type { Schemas } from './client.ts'

type Described = Schemas['ResourceSchema']['resources'][number]
type PlainField = Described['fields'][number]

/** The definition of a custom property, as in the schema of its resource. */
export type Definition = NonNullable<Described['properties']>[number]

/** The parts of a definition that a field needs. */
export type DefinedValue = Omit<Definition, 'id' | 'unique' | 'position'>

/** A defined custom property in the form of a field. Its name is a path: `customProperties.<key>`. */
export interface DeclaredField extends Omit<PlainField, 'type'> {
  type: PlainField['type'] | 'money'
  /** The organization wrote its texts, so they are not translated. */
  declared: {
    /** The labels of all choices by their values, including archived ones. */
    choiceLabels: Readonly<Record<string, string>>
    isArchived: boolean
  }
}

/** The field type with which values of each property type are shown and edited. */
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

/** A defined property as a field, from which lists, forms and records are derived. */
export function declaredField(definition: DefinedValue): DeclaredField {
  const { key, type, label, description, choices, parts, archived } = definition
  // Amounts of money are compared by number.
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
