/** Operations that need no success, because they ask for what nobody can draw; and what that is. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  'a token that was mailed': [
    ...['resetPassword', 'verifyAddress', 'confirmSignUp', 'setUp', 'confirmAddress'],
    ...['previewInvitation', 'acceptInvitation', 'acceptOwnInvitation'],
  ],
  'a cookie of the service, from a page of its own': ['refreshCookie'],
  'a login whose second factor is still to come': [
    ...['logInWithTotp', 'logInWithRecoveryCode', 'getLoginPasskeyOptions', 'completeLoginWithPasskey'],
  ],
  'a code of an authenticator app': ['confirmTotp', 'reauthenticateWithTotp'],
  'a second factor that was set up': ['removeTotp', 'makeRecoveryCodes'],
  'a signature of a passkey': [
    'addPasskey',
    'renamePasskey',
    'removePasskey',
    'reauthenticateWithPasskey',
    'logInWithPasskey',
  ],
  'an identity provider': ['beginIdentity', 'confirmIdentity', 'deleteIdentity'],
  'a record in the name service': ['verifyDomain'],
  'another member, who would have been invited': ['deleteMember', 'leaveOrganization'],
}

export const undrawable: ReadonlySet<string> = new Set(Object.values(reasons).flat())
