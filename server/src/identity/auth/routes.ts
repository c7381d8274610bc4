import { toRoute } from '../access/account-route.ts'
import type { Route } from '../../platform/http/route.ts'
import { changeAddressRoute, confirmAddressRoute, updateMeRoute, verifyAddressRoute } from './addresses.ts'
import { loginRoute } from './login.ts'
import { checkRoutes } from './checks.ts'
import { confirmSignUpRoute, loginSettingsRoute, setUpRoute, signUpRoute } from './sign-up.ts'
import { changePasswordRoute, forgotPasswordRoute, reauthenticateRoute, resetPasswordRoute } from './passwords.ts'
import { keySetRoute, logoutRoute, refreshCookieRoute, refreshRoute } from './refresh.ts'
import { sessionRoutes } from './sessions.ts'

export const authRoutes: Route[] = [
  loginRoute,
  loginSettingsRoute,
  refreshRoute,
  refreshCookieRoute,
  logoutRoute,
  forgotPasswordRoute,
  resetPasswordRoute,
  verifyAddressRoute,
  signUpRoute,
  confirmSignUpRoute,
  setUpRoute,
  ...checkRoutes,
  keySetRoute,
]

/** Routes about the person's own account. */
export const accountRoutes: Route[] = [
  updateMeRoute,
  changePasswordRoute,
  reauthenticateRoute,
  changeAddressRoute,
  confirmAddressRoute,
  ...sessionRoutes,
].map(toRoute)
