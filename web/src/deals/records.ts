import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schemas } from '../api/client.ts'
import { type ResourceSchema, useResource, useSchema } from '../api/schema.ts'
import { type Tint, tintOfState } from '../ui/tag.tsx'
import { type NestedRecord, nestedRecordsQuery } from '../views/nested-records.ts'

export type Stage = Schemas['Stage']
export type Pipeline = Schemas['Pipeline']
export type DealSum = Schemas['DealSummary'][number] & { stageId: string; pipelineId: string }

/** The properties of each deal that the board loads. */
export const boardFields = [
  'id',
  'name',
  'amount',
  'currency',
  'status',
  'lostReason',
  'pipelineId',
  'stageId',
  'companyId',
  'company',
  'ownerId',
  'expectedCloseDate',
  'position',
  'stageChangedAt',
  'lastActivityAt',
] as const
type Read = Pick<Schemas['Deal'], (typeof boardFields)[number]>
/** Null only for deleted deals. */
export type Deal = Read & { stageId: string; pipelineId: string }

export interface PipelineWithStages {
  pipeline: Pipeline
  /** In pipeline order. */
  stages: readonly Stage[]
}

/** All pipelines that have stages, oldest first. */
export function usePipelines() {
  const { data, error, refetch } = useQuery(nestedRecordsQuery(useSchema(), useResource('stages')))
  const pipelines = useMemo(() => data && inPipelines(data), [data])
  return { pipelines, error, refetch }
}

function inPipelines(records: readonly NestedRecord[]): readonly PipelineWithStages[] {
  const byId = new Map<string, { pipeline: Pipeline; stages: Stage[] }>()
  for (const { record, parent } of records) {
    const found = byId.get(parent.id) ?? { pipeline: parent as unknown as Pipeline, stages: [] }
    found.stages.push(record as unknown as Stage)
    byId.set(parent.id, found)
  }
  return [...byId.values()]
}

/** The stages of a deal's pipeline; empty while loading. */
export const useStages = (pipelineId: string): readonly Stage[] =>
  usePipelines().pipelines?.find(({ pipeline }) => pipeline.id === pipelineId)?.stages ?? []

/** The schema of deals; loaded wherever a deal is shown. */
export function useDeals(): ResourceSchema {
  const deals = useResource('deals')
  if (!deals) throw new Error('The description of the API has no deals.')
  return deals
}

export const stageTint = ({ kind, name }: Pick<Stage, 'kind' | 'name'>): Tint => tintOfState(kind, name)

const day = 86_400_000

/** Days without activity; undefined if the deal needs no attention yet. */
export function rottingDays(deal: Deal, stage: Stage, now: Date): number | undefined {
  if (stage.rottingDays === null || deal.status !== 'open') return undefined
  const times = [deal.stageChangedAt, deal.lastActivityAt].map((time) => (time === null ? 0 : Date.parse(time)))
  const days = Math.floor((now.getTime() - Math.max(...times)) / day)
  return days >= stage.rottingDays ? days : undefined
}
