import type { Schemas } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'

export type Stage = Schemas['Stage']

export const stageKinds = ['open', 'won', 'lost'] as const

/** The default stages. */
export const usualStages = [
  { key: 'lead', kind: 'open', probability: 10, rottingDays: 14 },
  { key: 'qualified', kind: 'open', probability: 25, rottingDays: 14 },
  { key: 'proposal', kind: 'open', probability: 50, rottingDays: 21 },
  { key: 'negotiation', kind: 'open', probability: 75, rottingDays: 14 },
  { key: 'won', kind: 'won' },
  { key: 'lost', kind: 'lost' },
] as const

/** Everything that shows stages refetches them: boards, deals, stage options. */
export const pipelinesChanged = (): void => void queryClient.invalidateQueries({ queryKey: ['nested'] })
