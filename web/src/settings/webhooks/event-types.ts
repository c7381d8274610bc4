import { useTranslations } from 'use-intl'
import { type ResourceSchema, useSchema } from '../../api/schema.ts'
import { useLabel } from '../../messages/labels.ts'
import { scopeText } from '../scope-picker.tsx'

/** The pattern for all events that the scopes show. */
export const everything = '*'

export const allOf = ({ singular }: Pick<ResourceSchema, 'singular'>): string => `${singular}.*`

/** The types of a resource's events. */
export const typesOf = ({ singular, events }: ResourceSchema): string[] => events.map((kind) => `${singular}.${kind}`)

/** The scope that shows the events of a resource. */
export const scopeOf = ({ singular }: Pick<ResourceSchema, 'singular'>): string => scopeText(`${singular}:list:read`)

/** The resources whose events the person may see. */
export const useFollowable = (): readonly ResourceSchema[] =>
  useSchema().filter(({ events, permissions }) => events.length > 0 && permissions.list)

const nounOf = (pattern: string): string => pattern.split('.')[0] ?? ''

/** The resources that the patterns name. */
export const namedBy = (patterns: readonly string[], schema: readonly ResourceSchema[]): ResourceSchema[] =>
  schema.filter(({ singular, events }) => events.length > 0 && patterns.some((one) => nounOf(one) === singular))

/** The only resource of the patterns: only its records can be filtered. */
export function onlyResourceOf(
  patterns: readonly string[],
  schema: readonly ResourceSchema[],
): ResourceSchema | undefined {
  const [only, ...others] = namedBy(patterns, schema)
  return others.length === 0 && !patterns.includes(everything) ? only : undefined
}

/** The scopes after the choice of events has changed: those that it needs, and those that the person has added. */
export function scopesAfter(
  scopes: readonly string[],
  [before, after]: readonly [readonly string[], readonly string[]],
  schema: readonly ResourceSchema[],
): string[] {
  const needed = (patterns: readonly string[]) => namedBy(patterns, schema).map(scopeOf)
  const added = scopes.filter((scope) => !needed(before).includes(scope))
  return [...new Set([...added, ...needed(after)])]
}

/** `Contact created`, `Contacts: all events`. */
export function useEventLabel(): (pattern: string) => string {
  const t = useTranslations('settings.webhooks')
  const schema = useSchema()
  const labelOf = useLabel()
  return (pattern) => {
    if (pattern === everything) return t('allEvents')
    const [noun, kind = ''] = pattern.split('.')
    const resource = schema.find(({ singular }) => singular === noun)
    if (!resource) return pattern
    if (kind === '*') return t('allOf', { resources: labelOf(resource.label) })
    const key = `kinds.${kind}`
    return t.has(key as never)
      ? t('type', { resource: labelOf(resource.singularLabel), kind: t(key as never) })
      : pattern
  }
}
