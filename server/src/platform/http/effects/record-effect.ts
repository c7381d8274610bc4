import type { Caller } from '../../model/caller.ts'
import { actorOf } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/store.ts'
import type { Transaction } from '../../database/database.ts'
import { encodeId } from '../../model/ids.ts'
import type { RouteResponse, Client, WriteRoute } from '../route.ts'
import type { JsonObject } from '../../model/json.ts'

interface EffectContext {
  db: Transaction
  caller: Caller
  client: Client
  params: Readonly<Record<string, string>>
  body: JsonObject
  response: RouteResponse
}

/** Records in the audit log what an audited route did, in the transaction of its effect. */
export async function recordEffect(route: WriteRoute, context: EffectContext): Promise<void> {
  const { db, caller, client, body, response } = context
  const { effect = {} } = response
  if (!route.audited || effect === 'none') return
  const fields = effect.fields ?? Object.keys(body)
  const details: JsonObject = { ...(fields.length > 0 && { fields: [...fields] }), ...effect.details }
  await recordEvent(db, {
    organizationId: db.organizationId,
    action: route.audited,
    ...actorOf(caller),
    ...recordOf(route, context),
    address: client.address,
    requestId: client.requestId,
    details,
  })
}

/** The created record, from the response; otherwise the last record in the path. */
function recordOf(
  route: WriteRoute,
  { params, response }: EffectContext,
): { recordType: string; recordId: string } | Record<string, never> {
  const declared = route.responses[response.status]
  if (response.status === 201 && declared?.kind === 'record' && response.text !== undefined) {
    const { id } = JSON.parse(response.text) as { id: string }
    return { recordType: declared.resource.singular, recordId: id }
  }
  const [name, parameter] = Object.entries(route.params).at(-1) ?? []
  if (name === undefined || !parameter) return {}
  return { recordType: parameter.resource, recordId: encodeId(parameter.prefix, params[name] ?? '') }
}
