import { recordLimit } from '../../identity/access/record-limit-store.ts'
import { defineResource, type Prepared } from '../../platform/records/declare/define.ts'
import { choice, id, integer, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
import { pipelines } from '../pipelines/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** What a stage makes of the deals in it. */
export const dealStatuses = ['open', 'won', 'lost'] as const
export type DealStatus = (typeof dealStatuses)[number]

const closedProbabilities: Readonly<Record<string, number>> = { won: 100, lost: 0 }
const defaultOpenProbability = 50

/** Deals in a won stage are certain and those in a lost stage have none left; an open stage can be anything. */
function prepare(values: JsonObject, current: JsonObject | undefined): Prepared {
  const { kind, probability } = { ...current, ...values }
  const certain = closedProbabilities[String(kind)]
  if (certain === undefined) {
    const isReopened = current !== undefined && current.kind !== kind && values.probability === undefined
    const isOpen = probability !== null && !isReopened
    return { values: isOpen ? values : { ...values, probability: defaultOpenProbability } }
  }
  const isSent = (values.probability ?? null) !== null
  const errors =
    isSent && probability !== certain
      ? [{ field: 'probability', message: `must be ${certain} in a stage of the kind ${kind}` }]
      : []
  return { values: { ...values, probability: certain }, errors }
}

/** A stage of a pipeline, in the order of its position. */
export const stages = defineResource({
  name: 'stages',
  singular: 'stage',
  component: 'Stage',
  idPrefix: 'stg',
  heading: 'The stages of a pipeline, in order.',
  roleGroup: 'visible',
  limit: recordLimit(100),
  audited: {
    create: 'A stage was added to a pipeline.',
    update: 'A stage of a pipeline was changed.',
    delete: 'A stage of a pipeline was deleted.',
    restore: 'A deleted stage of a pipeline was restored.',
  },
  isSmall: true,
  parent: { parameter: 'pipelineId', resource: pipelines, column: 'pipeline_id', isSmall: true },
  prepare,
  fields: {
    id: id('stg'),
    pipelineId: reference('pip', { label: 'Pipeline', readOnly: true, nullable: false }),
    name: text({ label: 'Name', required: true, max: 100 }),
    position: integer({ label: 'Position', description: 'From 0', min: 0, max: 1000, nullable: false }),
    kind: choice(dealStatuses, {
      label: 'Kind',
      description: 'The status of the deals in it. Changing it closes or reopens these deals',
      nullable: false,
      initial: 'open',
    }),
    probability: integer({
      label: 'Probability',
      description: `The share of its deals that will be won, in percent. Always 100 if won and 0 if lost; otherwise ${defaultOpenProbability} by default`,
      min: 0,
      max: 100,
      nullable: false,
    }),
    rottingDays: integer({
      label: 'Rotting after days',
      description: 'Days without activity after which a deal in it needs attention; null for never',
      min: 1,
      max: 3650,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
