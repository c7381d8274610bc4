import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import {
  type Action,
  actionTypes,
  type ActionType,
  type Intent,
  type Interpretation,
  intents,
  type Language,
  languages,
  maxSummaryLength,
  maxTitleLength,
  type NoteFacts,
  priorities,
  type Priority,
  type Span,
  type StageKind,
  stageKinds,
  timeZoneOf,
} from '../analysis.ts'
import { instantOf, startOfDay, wallTimeOf } from '../local-time.ts'

/** What a model returns: evidence as words, because models cannot count characters. */
interface ModelOutput {
  intent: Intent
  language: Language
  actions: {
    type: ActionType
    evidence: string
    dueAt: string | null
    priority: Priority
    confidence: number
    name: string | null
    email: string | null
    phone: string | null
    stageKind: StageKind | null
    title: string | null
  }[]
  summary: string | null
}

const orNull = (schema: Record<string, unknown>) => ({ anyOf: [schema, { type: 'null' }] })
const text = (maxLength: number) => ({ type: 'string', maxLength })

/** Closed objects with every property required, as strict structured output expects. */
const closed = (properties: Record<string, unknown>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

export const outputSchema = closed({
  intent: { enum: intents },
  language: { enum: languages },
  actions: {
    type: 'array',
    maxItems: 5,
    items: closed({
      type: { enum: actionTypes },
      evidence: text(500),
      dueAt: orNull({ type: 'string', pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d$` }),
      priority: { enum: priorities },
      confidence: { type: 'number', minimum: 0, maximum: 1 },
      name: orNull(text(100)),
      email: orNull(text(320)),
      phone: orNull(text(40)),
      stageKind: orNull({ enum: stageKinds }),
      title: orNull(text(maxTitleLength)),
    }),
  },
  summary: orNull(text(maxSummaryLength)),
})

/** Compiled when a model answers, because most services have none. */
let validator: ValidateFunction<ModelOutput> | undefined
const compile = () =>
  new Ajv2020({ allErrors: false, strict: false, validateSchema: false }).compile<ModelOutput>(outputSchema)

/** The output of a model, or why it is invalid. */
export function parseOutput(content: string): { output: ModelOutput } | { errors: string } {
  let parsed: unknown
  try {
    parsed = JSON.parse(withoutFence(content))
  } catch {
    return { errors: 'it is not JSON' }
  }
  const validate = (validator ??= compile())
  if (validate(parsed)) return { output: parsed }
  const [error] = validate.errors ?? []
  return { errors: `${error?.instancePath || 'the object'} ${error?.message ?? 'is invalid'}` }
}

/** Small models put JSON in a Markdown block. */
const withoutFence = (content: string): string =>
  /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(content)?.[1] ?? content

/** Finds the evidence in the note, and converts local times. Actions without evidence in the note are dropped. */
export function interpretationOf(output: ModelOutput, note: string, facts: NoteFacts): Interpretation {
  return {
    intent: output.intent,
    language: output.language,
    actions: output.actions.flatMap((action) => actionOf(action, note, facts)),
    suspicious: false,
    ...(output.summary !== null && { summary: output.summary }),
  }
}

function actionOf(given: ModelOutput['actions'][number], note: string, facts: NoteFacts): Action[] {
  const evidence = spanOf(given.evidence, note)
  const params = paramsOf(given)
  if (!evidence || !params) return []
  const { priority, confidence } = given
  const dueAt = given.dueAt === null ? undefined : instantIn(given.dueAt, facts)
  if (dueAt === null) return []
  return [{ ...params, priority, confidence, evidence, ...(dueAt !== undefined && { dueAt }) }]
}

function spanOf(words: string, note: string): Span | undefined {
  const start = words.trim() === '' ? -1 : note.indexOf(words)
  return start < 0 ? undefined : { start, end: start + words.length }
}

/** Null if there is no such day, such as 31 February. */
function instantIn(local: string, facts: NoteFacts): string | null {
  const wall = Date.parse(`${local}:00Z`)
  if (Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 16) !== local) return null
  const instant = instantOf(wall, timeZoneOf(facts))
  const wallNow = wallTimeOf(facts.now, timeZoneOf(facts))
  // The model writes 09:00 for a day without a time, also for today.
  const isOver = instant < facts.now && startOfDay(wall) === startOfDay(wallNow)
  return (isOver ? facts.now : instant).toISOString()
}

type TypedParams = { [Type in ActionType]: Pick<Extract<Action, { type: Type }>, 'type' | 'params'> }[ActionType]

/** Undefined if a parameter that the type needs is missing. */
function paramsOf(given: ModelOutput['actions'][number]): TypedParams | undefined {
  const { type, name, email, phone, stageKind, title } = given
  const some = <Key extends string>(key: Key, value: string | null) =>
    (value === null ? {} : { [key]: value }) as { [Name in Key]?: string }
  switch (type) {
    case 'call':
      return { type, params: some('phone', phone) }
    case 'create_task':
      return title === null ? undefined : { type, params: { title } }
    case 'change_stage':
      return stageKind === null ? undefined : { type, params: { stageKind } }
    case 'add_contact':
      return { type, params: { ...some('name', name), ...some('email', email), ...some('phone', phone) } }
    case 'reply':
    case 'schedule_meeting':
    case 'wait_until':
    case 'stop_campaign':
    case 'suppress':
      return { type, params: {} }
  }
}
