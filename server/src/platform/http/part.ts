import type { RoleGroup } from '../model/scopes.ts'
import { actionOf, type AuditedChange, type Resource } from '../records/declare/define.ts'
import type { Route } from './route.ts'

/** What one folder contributes to the product: one line in `app.ts`. */
export interface Part {
  /** Its declarations that have a table. */
  resources?: readonly Resource[]
  routes: readonly Route[]
  /** Documentation headings of tags that no resource declares. */
  headings?: Readonly<Record<string, string>>
  /** Role groups of scope nouns that no resource declares. */
  roleGroups?: Readonly<Record<string, RoleGroup>>
}

export const headingsOf = (parts: readonly Part[]): Readonly<Record<string, string>> =>
  Object.assign({}, ...parts.flatMap(({ headings, resources = [] }) => [headings, ...resources.map(ownHeading)]))

const ownHeading = ({ name, heading }: Resource) => (heading === undefined ? {} : { [name]: heading })

export const roleGroupsOf = (parts: readonly Part[]): Readonly<Record<string, RoleGroup>> =>
  Object.assign(
    {},
    ...parts.flatMap(({ roleGroups, resources = [] }) => [
      roleGroups,
      ...resources.map(({ singular, roleGroup }) => ({ [singular]: roleGroup })),
    ]),
  )

/** The audit log actions of the declarations, with a sentence each. */
export const auditActionsOf = (parts: readonly Part[]): Readonly<Record<string, string>> =>
  Object.assign({}, ...parts.flatMap(({ resources = [] }) => resources.map(ownActions)))

const ownActions = (resource: Resource): Record<string, string> =>
  Object.fromEntries(
    Object.entries(resource.audited ?? {}).map(([change, sentence]) => [
      actionOf(resource, change as AuditedChange) ?? '',
      sentence,
    ]),
  )
