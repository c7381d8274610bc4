import { assertScope } from '../../platform/http/effects/denied-scope.ts'
import { type Route, type WriteRequest, writeRoute } from '../../platform/http/route.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { writeOne } from '../../platform/records/write/store.ts'
import { changeOne, RouteGroup } from '../../platform/records/routes/standard-routes.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { kinds } from './accept.ts'
import { isOptedOutByAnother, lockOpenSuggestion, type Suggestion } from './decision-store.ts'
import { acceptanceShape, checkEdits, rejectionShape } from './edits.ts'
import { suggestionStore } from './store.ts'

const group = new RouteGroup(suggestionStore, '/v5/suggestions')

const acceptRoute = writeRoute({
  ...group.changeRoute('accept'),
  summary: 'Accept a suggestion',
  description:
    'Does what the suggestion says, once. `reply`, `call`, `schedule_meeting`, `create_task`, `wait_until` and `stop_campaign` create a task on the record of the note; `change_stage` moves the deal; `add_contact` creates a contact; `suppress` sets `emailOptOut` of the contact. The body edits that first. The caller also needs the scope of what is done, such as `task:create:write`.',
  body: { component: 'SuggestionAcceptance', shape: acceptanceShape, required: false },
  errors: [409],
  async handle(request) {
    const { db, params, body } = request
    const suggestion = await lockOpenSuggestion(db, group.id(params))
    const { scope, apply } = kinds[suggestion.type]
    await assertEffectScope(request, scope)
    checkEdits(suggestion.type, body)
    const { columns, edits } = await apply(db, suggestion, body)
    return changeOne(group, request, {
      values: { status: 'accepted', edits },
      columns: () => ({ ...decisionOf(request), ...columns }),
    })
  },
})

const rejectRoute = writeRoute({
  ...group.changeRoute('reject'),
  summary: 'Reject a suggestion',
  description:
    'Nothing else happens, except that rejecting a `suppress` that was applied by itself (`auto_applied`) lets the contact receive email again, unless another suggestion has opted the contact out too; the caller then needs `contact:update:write`.',
  body: { component: 'RejectionReason', shape: rejectionShape, required: false },
  errors: [409],
  async handle(request) {
    const { db, params, body } = request
    const suggestion = await lockOpenSuggestion(db, group.id(params))
    await undoOptOut(request, suggestion)
    return changeOne(group, request, {
      values: { status: 'rejected', rejectionReason: body.reason ?? null },
      columns: () => decisionOf(request),
    })
  },
})

const decisionOf = ({ caller }: WriteRequest) => ({ decided_at: 'now', decided_by_id: caller.userId })

const assertEffectScope = ({ services, caller, client }: WriteRequest, scope: string): Promise<void> =>
  assertScope({ services, caller, client, route: group.path }, scope)

/** Reverts what the service did by itself, and nothing that was so before. */
async function undoOptOut(request: WriteRequest, suggestion: Suggestion): Promise<void> {
  const { status, resultContactId } = suggestion
  if (status !== 'auto_applied' || resultContactId === null) return
  await assertEffectScope(request, 'contact:update:write')
  if (await isOptedOutByAnother(request.db, suggestion)) return
  const id = decodeId(contacts.idPrefix, resultContactId) ?? ''
  await writeOne(contactStore, request.db, { kind: 'update', id, values: { emailOptOut: false } })
}

export const decisionRoutes: readonly Route[] = [acceptRoute, rejectRoute]
