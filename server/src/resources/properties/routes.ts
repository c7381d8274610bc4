import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/routes/standard-routes.ts'
import { properties } from './resource.ts'
import { propertyStore } from './store.ts'

export const propertyPart: Part = {
  resources: [properties],
  routes: standardRoutes(propertyStore, { path: '/v5/properties' }),
}
