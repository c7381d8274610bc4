import { changedScore, measureChanges } from './changes.ts'
import { measureCreates } from './creates.ts'
import { measureHistory } from './history.ts'
import { indexProperties } from './indexed-properties.ts'
import { type Interactions, measureInteractions } from './interactions.ts'
import type { Plan } from './plans.ts'
import { measureMoves } from './moves.ts'
import { measureBusyPushes, measurePushes } from './pushes.ts'
import { measureReach } from './reach.ts'
import { measureReads } from './reads.ts'
import type { Row } from './report.ts'
import { indexedReadNames, reachNames, readNames, rowNames, suggestionNames, tenantNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import type { Testbed } from './stage.ts'
import { measureSuggestions } from './suggestions.ts'
import { measureTenants } from './tenants.ts'
import { measureWebhooks, webhookSettings } from './webhooks.ts'
import { measureProcessing } from './work.ts'

interface Measured {
  rows: Row[]
  plans?: Plan[]
  interactions?: Interactions[]
}

/** Rows that are measured with one start of the service. */
export interface Part {
  settings: Record<string, string>
  rows: readonly string[]
  /** Measures the named rows of the part. */
  measure(stage: Testbed, names: readonly string[], sample: Sample): Promise<Measured>
}

const parts: readonly Part[] = [
  {
    settings: {},
    rows: [
      ...readNames,
      rowNames.created,
      rowNames.createdWithCompany,
      rowNames.changed,
      rowNames.moved,
      rowNames.createHistory,
      rowNames.changeHistory,
      ...reachNames,
    ],
    measure: async (stage, names, sample) => {
      const reads = names.filter((name) => readNames.includes(name))
      const { rows, plans } = reads.length > 0 ? await measureReads(stage, reads, sample) : { rows: [], plans: [] }
      if (names.includes(rowNames.created)) rows.push(...(await measureCreates(stage)))
      const { createdWithCompany: withCompany } = rowNames
      if (names.includes(withCompany)) rows.push(...(await measureCreates(stage, withCompany, { isOfCompany: true })))
      if (names.includes(rowNames.changed)) rows.push(...(await measureChanges(stage, sample)))
      if (names.includes(rowNames.moved)) rows.push(...(await measureMoves(stage, sample)))
      rows.push(...(await measureHistory(stage, names)), ...(await measureReach(stage, sample, names)))
      return { rows, plans }
    },
  },
  {
    settings: {},
    rows: [...indexedReadNames, rowNames.indexedCreated, rowNames.indexedChanged],
    measure: async (stage, names, sample) => {
      const removeIndexes = await indexProperties(stage)
      const reads = names.filter((name) => indexedReadNames.includes(name))
      const { rows } = reads.length > 0 ? await measureReads(stage, reads, sample) : { rows: [] as Row[] }
      const { indexedCreated, indexedChanged } = rowNames
      if (names.includes(indexedCreated)) rows.push(...(await measureCreates(stage, indexedCreated)))
      if (names.includes(indexedChanged))
        rows.push(...(await measureChanges(stage, sample, { name: indexedChanged, body: changedScore })))
      await removeIndexes()
      return { rows }
    },
  },
  {
    // Otherwise the service would process the pushed rows and read the queued notes meanwhile.
    settings: { IMPORT_WORKERS: '0', REASONING_CONCURRENCY: '0' },
    rows: [...suggestionNames, rowNames.pushed],
    measure: async (stage, names, sample) => ({
      rows: [
        ...(await measureSuggestions(stage, sample, names)),
        ...(names.includes(rowNames.pushed) ? await measurePushes(stage, sample) : []),
      ],
    }),
  },
  {
    settings: {},
    rows: [rowNames.processed, rowNames.processedOfTwo, rowNames.busy],
    measure: async (stage, names, sample) => ({
      rows: [
        ...(await measureProcessing(stage, names, sample)),
        ...(names.includes(rowNames.busy) ? await measureBusyPushes(stage, sample) : []),
      ],
    }),
  },
  {
    settings: webhookSettings,
    rows: [rowNames.delivered, ...tenantNames],
    measure: async (stage, names, sample) => ({
      rows: [
        ...(names.includes(rowNames.delivered) ? await measureWebhooks(stage, sample) : []),
        ...(await measureTenants(stage, sample, names)),
      ],
    }),
  },
  {
    settings: {},
    rows: [rowNames.interactions],
    measure: async (stage) => ({ rows: [], interactions: await measureInteractions(stage) }),
  },
]

/** The parts that contain these rows, reduced to these rows. */
export const partsOf = (names: readonly string[]): Part[] =>
  parts
    .map((part) => ({ ...part, rows: part.rows.filter((name) => names.includes(name)) }))
    .filter(({ rows }) => rows.length > 0)
