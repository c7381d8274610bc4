import { toRoute } from '../access/account-route.ts'
import type { Route } from '../../platform/http/route.ts'
import { factorRoutes } from './account-routes.ts'
import { factorLoginRoutes } from './login-routes.ts'
import { factorReauthenticationRoutes } from './reauthentication-routes.ts'

export const secondFactorRoutes: Route[] = [
  ...factorLoginRoutes,
  ...[...factorRoutes, ...factorReauthenticationRoutes].map(toRoute),
]
