import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { useLabel } from '../messages/labels.ts'
import { type Stage, useStages } from '../deals/records.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import type { Suggestion } from './suggestion-data.ts'

type Deal = Pick<Schemas['Deal'], 'id' | 'name' | 'pipelineId' | 'stageId' | 'status'>

/** The deals that a suggestion can move: the note's deal, otherwise the open ones of the contact or company. */
const dealsQuery = ({ dealId, contactId, companyId }: Suggestion) =>
  queryOptions({
    queryKey: ['deals to move', dealId ?? contactId ?? companyId],
    queryFn: async ({ signal }) => {
      const filter =
        dealId !== null
          ? { 'filter.id.equals': dealId }
          : {
              'filter.status.equals': 'open',
              ...(contactId === null
                ? { 'filter.companyId.equals': companyId ?? '' }
                : { 'filter.contacts.contactId.equals': contactId }),
            }
      const query = new URLSearchParams({ ...filter, limit: '20' })
      return (await send<Deal[]>('GET', '/v5/deals', { query, signal })).body
    },
    gcTime: 0,
  })

/** Chooses the deal and its new stage, and the reason if it is lost. */
export function DealFields({ suggestion, errorOf }: EditFieldsProps) {
  const t = useTranslations('suggestions')
  const common = useTranslations('common')
  const labelOf = useLabel()
  const deals = useQuery(dealsQuery(suggestion)).data
  const [dealId, setDealId] = useState('')
  const [stageId, setStageId] = useState<string>()
  const deal = deals?.find(({ id }) => id === dealId) ?? (deals?.length === 1 ? deals[0] : undefined)
  const stages = useStages(deal?.pipelineId ?? '')
  const chosen = stages.find(({ id }) => id === (stageId ?? targetOf(suggestion, deal, stages)?.id))
  if (!deals) return <p>{common('loading')}</p>
  return (
    <>
      {deals.length !== 1 && (
        <SelectField
          label={labelOf('Deal')}
          name="dealId"
          value={dealId}
          onChange={(event) => {
            setDealId(event.target.value)
            setStageId(undefined)
          }}
          options={[
            { value: '', label: t(deals.length === 0 ? 'noOpenDeal' : 'chooseDeal') },
            ...deals.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          error={errorOf('dealId')}
        />
      )}
      <SelectField
        label={labelOf('Stage')}
        name="stageId"
        value={chosen?.id ?? ''}
        disabled={!deal}
        onChange={(event) => setStageId(event.target.value)}
        options={[
          ...(chosen ? [] : [{ value: '', label: t('chooseStage') }]),
          ...stages.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        error={errorOf('stageId')}
      />
      {chosen?.kind === 'lost' && (
        <TextField
          label={labelOf('Lost because')}
          name="lostReason"
          isOptional
          error={errorOf('lostReason')}
          spellCheck
        />
      )}
    </>
  )
}

/** Where the service moves the deal: to the next stage if open, otherwise to the first stage of the kind. */
function targetOf({ params }: Suggestion, deal: Deal | undefined, stages: readonly Stage[]): Stage | undefined {
  const kind = params.stageKind ?? 'open'
  const current = stages.findIndex(({ id }) => id === deal?.stageId)
  const after = kind === 'open' && stages[current]?.kind === 'open' ? current : -1
  return stages.find((stage, index) => stage.kind === kind && index > after)
}

/** The data for the form's fields. */
export interface EditFieldsProps {
  suggestion: Suggestion
  errorOf(field: string): string | undefined
}
