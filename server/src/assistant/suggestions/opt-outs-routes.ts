import { assertScope } from '../../platform/http/effects/denied-scope.ts'
import { type Route, writeRoute } from '../../platform/http/route.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { imports } from '../../intake/imports/resource.ts'
import { lockWaitingOptOuts, maxDecided, maxRemaining } from './opt-outs-store.ts'
import { suggestionStore } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'

const decidedSchema: Schema = {
  type: 'object',
  required: ['count', 'remaining'],
  additionalProperties: false,
  properties: {
    count: { type: 'integer', minimum: 0, description: 'Number of opt-outs decided.' },
    remaining: {
      type: 'integer',
      minimum: 0,
      description: `Number of opt-outs left for the next call, at most ${maxRemaining.toLocaleString('en')}.`,
    },
  },
}

const decide = (action: 'accept' | 'reject', summary: string, effect: string): Route =>
  writeRoute({
    kind: 'write',
    method: 'POST',
    path: `/v5/imports/{importId}/opt-outs/${action}`,
    operation: `${action}OptOuts`,
    summary,
    description: `Decides on the opt-outs of the import that wait because there were many within an hour (\`waitingReason\` is \`many_opt_outs\`). ${effect} One call decides at most ${maxDecided}, oldest first. Repeat it, with a new Idempotency-Key each time, until \`remaining\` is 0.`,
    tag: 'suggestions',
    params: { importId: { prefix: imports.idPrefix, resource: imports.singular } },
    scope: `suggestion:${action}:write`,
    query: { kind: 'none' },
    supportsIfMatch: false,
    responses: { 200: { kind: 'schema', component: 'OptOutsDecided', schema: decidedSchema } },
    async handle({ services, db, caller, client, params }) {
      const route = '/v5/imports/{importId}/opt-outs'
      if (action === 'accept') await assertScope({ services, caller, client, route }, 'contact:update:write')
      const { found, remaining } = await lockWaitingOptOuts(db, params.importId ?? '')
      const decision = { decided_at: 'now', decided_by_id: caller.userId }
      if (action === 'accept') {
        const ids = [...new Set(found.map(({ contactId }) => contactId))]
        await contactStore.write(
          db,
          ids.map((id) => ({ kind: 'update', id, values: { emailOptOut: true } })),
        )
      }
      await suggestionStore.write(
        db,
        found.map(({ id, contactId }) => ({
          kind: 'update',
          id,
          values: action === 'accept' ? { status: 'accepted' } : { status: 'rejected' },
          columns: () => ({ ...decision, ...(action === 'accept' && { result_contact_id: contactId }) }),
        })),
      )
      return { status: 200, text: JSON.stringify({ count: found.length, remaining }) }
    },
  })

export const optOutRoutes: readonly Route[] = [
  decide(
    'accept',
    'Accept the waiting opt-outs of an import',
    'Sets `emailOptOut` of their contacts; the caller also needs `contact:update:write`.',
  ),
  decide(
    'reject',
    'Reject the waiting opt-outs of an import',
    'Nothing else happens: their contacts receive email, and the same words pushed again wait.',
  ),
]
