import type pg from 'pg'
import { newId } from '../../platform/model/ids.ts'
import type { definableResources } from '../../crm/properties/resource.ts'
import { definitionOf } from '../../crm/properties/rules.ts'
import type { Random } from './random.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import type { PropertyType } from '../../platform/records/declare/field.ts'

export const plans = ['free', 'team', 'business', 'enterprise'] as const
export const sources = ['website', 'fair', 'recommendation', 'webinar', 'import', 'phone'] as const
export const interests = ['product', 'training', 'support', 'events', 'prices'] as const
export const segments = ['small', 'middle', 'large'] as const
const competitors = ['Northwind CRM', 'Contoso Sales', 'Fabrikam One', 'a spreadsheet'] as const
const services = ['migration', 'training', 'premium_support'] as const

interface DemoProperty {
  key: string
  type: PropertyType
  label: string
  description?: string
  choices?: readonly string[]
}

const definitions: Record<(typeof definableResources)[number], readonly DemoProperty[]> = {
  contacts: [
    { key: 'plan', type: 'choice', label: 'Plan', choices: plans },
    { key: 'renewsOn', type: 'date', label: 'Renews on', description: 'When the current plan ends' },
    { key: 'score', type: 'number', label: 'Lead score', description: 'From 0 to 100' },
    { key: 'source', type: 'choice', label: 'Heard of us through', choices: sources },
    { key: 'interests', type: 'multiChoice', label: 'Interested in', choices: interests },
    { key: 'newsletter', type: 'boolean', label: 'Newsletter' },
    { key: 'language', type: 'text', label: 'Language', description: 'Two-letter code' },
  ],
  companies: [{ key: 'segment', type: 'choice', label: 'Segment', choices: segments }],
  deals: [
    { key: 'competitor', type: 'text', label: 'Competitor' },
    { key: 'services', type: 'multiChoice', label: 'Services', choices: services },
    { key: 'setupFee', type: 'money', label: 'Set-up fee' },
  ],
}

/** Defines the custom properties that the generated records have. */
export async function fillProperties(client: pg.Client, organizationId: string): Promise<void> {
  for (const [resource, all] of Object.entries(definitions)) {
    const records = all.map(({ choices = [], ...property }, index) => ({
      resource,
      description: null,
      position: String(index + 1),
      ...property,
      choices: choices.map((value) => ({ value, label: labelOf(value), archived: false })),
    }))
    const stored = records.map((record) => definitionOf(newId(), record))
    await client.query(
      `insert into properties (organization_id, id, resource, key, type, label, description, choices, "position")
       select $1, id, $2, key, type, label, description, choices, "position"
       from jsonb_to_recordset($3::jsonb) as property(
         id uuid, key text, type text, label text, description text, choices jsonb, "position" numeric)`,
      [organizationId, resource, JSON.stringify(stored)],
    )
    await client.query(
      `insert into property_sets (organization_id, resource, revision, definitions) values ($1, $2, 1, $3::jsonb)`,
      [organizationId, resource, JSON.stringify(stored)],
    )
  }
}

const labelOf = (value: string): string => {
  const words = value.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The custom properties of a deal. */
export function dealProperties(random: Random, currency: string): JsonObject {
  const properties: JsonObject = {}
  if (random.chance(0.35)) properties.competitor = random.pick(competitors)
  if (random.chance(0.4)) properties.services = [...new Set([random.pick(services), random.pick(services)])]
  if (random.chance(0.25)) properties.setupFee = { amount: `${(1 + random.integerBelow(20)) * 250}.00`, currency }
  return properties
}
