import type pg from 'pg'
import { newId } from '../../platform/model/ids.ts'
import { definitionOf } from '../../crm/properties/rules.ts'
import { demoData } from './data.ts'

/** Defines the custom properties that the generated records have. */
export async function fillProperties(client: pg.Client, organizationId: string): Promise<void> {
  for (const [resource, all] of Object.entries(demoData.properties)) {
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
