import { covers } from '../platform/model/scopes.ts'
import { eventKinds } from '../platform/records/declare/event-kinds.ts'
import type { Resource } from '../platform/records/declare/define.ts'

/** The scope that shows the events of a resource, as in the feed: that of its list. */
export const eventScope = ({ singular }: Pick<Resource, 'singular'>): string => `${singular}:list:read`

const separator = '.'

/** `contact.created`: the noun of its resource and its kind. */
export function splitType(type: string): { singular: string; kind: string } {
  const [singular = '', kind = ''] = type.split(separator)
  return { singular, kind }
}

/** The resources whose events the patterns include, as far as the scopes show them. */
export const followedBy = (
  patterns: readonly string[],
  scopes: readonly string[],
  followed: readonly Resource[],
): readonly Resource[] =>
  followed.filter(
    (resource) =>
      covers(scopes, eventScope(resource)) &&
      patterns.some((pattern) => pattern === '*' || splitType(pattern).singular === resource.singular),
  )

/** What is wrong with a pattern; undefined if nothing is. */
export function errorOfPattern(
  pattern: string,
  scopes: readonly string[],
  followed: readonly Resource[],
): string | undefined {
  if (pattern === '*') return undefined
  const { singular, kind } = splitType(pattern)
  const resource = followed.find((one) => one.singular === singular)
  if (!resource) return `${quoted(pattern)}: no events have this resource; expected any of ${nounsOf(followed)}, or *`
  const kinds: readonly string[] = ['*', ...eventKinds]
  if (!kinds.includes(kind) || pattern !== `${singular}${separator}${kind}`)
    return `${quoted(pattern)}: expected ${singular}. and any of ${kinds.join(', ')}`
  return covers(scopes, eventScope(resource))
    ? undefined
    : `${quoted(pattern)}: the scopes do not include ${eventScope(resource)}`
}

const quoted = (text: string): string => `"${text.slice(0, 100)}"`

const nounsOf = (followed: readonly Resource[]): string => followed.map(({ singular }) => singular).join(', ')
