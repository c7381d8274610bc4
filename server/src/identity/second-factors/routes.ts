import { served } from '../access/account-route.ts'
import type { Route } from '../../platform/http/route.ts'
import { factorRoutes } from './account-routes.ts'
import { factorLoginRoutes } from './login-routes.ts'
import { factorProofRoutes } from './proof-routes.ts'

export const secondFactorRoutes: Route[] = [
  ...factorLoginRoutes,
  ...[...factorRoutes, ...factorProofRoutes].map(served),
]
