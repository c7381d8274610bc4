import type { RoleGroup } from '../model/scopes.ts'
import { actionOf, type AuditedChange, type Resource } from '../model/define.ts'
import type { Route } from './route.ts'

/** What one folder adds to the product: a line of `app.ts`. */
export interface Part {
  /** What it declares that has a table. */
  resources?: readonly Resource[]
  routes: readonly Route[]
  /** Headings of the documentation that no resource declares: what each tag of a route is about. */
  headings?: Readonly<Record<string, string>>
  /** Role groups of the nouns in scopes that no resource declares. */
  roleGroups?: Readonly<Record<string, RoleGroup>>
}

/** The headings of the documentation, in its order: what each tag of a route is about. */
export const headingsOf = (parts: readonly Part[]): Readonly<Record<string, string>> =>
  Object.assign({}, ...parts.flatMap(({ headings, resources = [] }) => [headings, ...resources.map(ownHeading)]))

const ownHeading = ({ name, heading }: Resource) => (heading === undefined ? {} : { [name]: heading })

/** The role group of each noun in scopes. */
export const roleGroupsOf = (parts: readonly Part[]): Readonly<Record<string, RoleGroup>> =>
  Object.assign(
    {},
    ...parts.flatMap(({ roleGroups, resources = [] }) => [
      roleGroups,
      ...resources.map(({ singular, roleGroup }) => ({ [singular]: roleGroup })),
    ]),
  )

/** The actions of the audit log that the declarations add, with a sentence each. */
export const auditActionsOf = (parts: readonly Part[]): Readonly<Record<string, string>> =>
  Object.assign({}, ...parts.flatMap(({ resources = [] }) => resources.map(ownActions)))

const ownActions = (resource: Resource): Record<string, string> =>
  Object.fromEntries(
    Object.entries(resource.audited ?? {}).map(([change, sentence]) => [
      actionOf(resource, change as AuditedChange) ?? '',
      sentence,
    ]),
  )
