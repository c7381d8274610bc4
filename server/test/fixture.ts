import type { ReadRoute, Route, SearchRoute, WriteRoute } from '../src/platform/http/route.ts'
import type { Resource } from '../src/platform/records/declare/define.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { References } from './samples.ts'
import type { CallOptions, Json, TestOrganization, TestResponse, TestService } from './service.ts'

/** The trigger URLs of an organization, and rows that were pushed to them. */
export interface Pushes {
  /** Stores the secret of an import's URL, which the API returns only once. */
  rememberUrl(importId: string, triggerUrl: string): void
  /** The secret part of the import's URL. */
  hashOf(importId: string): string
  /** Pushes a lead and processes it; returns the id of its row. */
  push(importId: string, lead: JsonObject): Promise<string>
  /** Pushes what is refused. */
  refuse(importId: string): Promise<void>
  /** Creates a row that no worker will process soon, in a different state each time; returns its id. */
  row(importId: string): Promise<string>
}

export interface RouteOptions extends CallOptions {
  /** Public ids for the path. */
  params?: Readonly<Record<string, string>>
  query?: readonly (readonly [string, string])[]
}

/** An organization with a record of every kind, and functions to request them. */
export interface Fixture {
  service: TestService
  organization: TestOrganization
  /** Ids of existing records, by prefix; at least two for each kind that a record can refer to. */
  references: References
  /** The URLs of its imports, and the rows pushed to them. */
  pushes: Pushes
  /** Calls a route with a key of all scopes and checks the response against the declaration of the route. */
  request(route: Route, options?: RouteOptions): Promise<TestResponse<Json>>
  /** The ids for a path: that of the collection's parent and, if given, that of the record. */
  params(collection: Collection, id?: string): Record<string, string>
  /** Creates a record; returns it as the collection shows it. */
  createRecord(collection: Collection, body: JsonObject): Promise<JsonObject>
}

/** The standard routes of one resource at one path. */
export interface Collection {
  path: string
  resource: Resource
  list: ReadRoute
  count?: ReadRoute
  search?: SearchRoute
  searchCount?: SearchRoute
  get?: ReadRoute
  create?: WriteRoute
  update?: WriteRoute
  delete?: WriteRoute
  restore?: WriteRoute
}
