/** Operations that need not succeed, by the required input that cannot be generated. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  'a mailed token': [
    ...['resetPassword', 'verifyAddress', 'confirmSignUp', 'setUp', 'confirmAddress'],
    ...['previewInvitation', 'acceptInvitation', 'acceptOwnInvitation'],
  ],
  'a cookie of the service, sent by one of its pages': ['refreshCookie'],
  'a login that awaits its second factor': [
    ...['logInWithTotp', 'logInWithRecoveryCode', 'getLoginPasskeyOptions', 'completeLoginWithPasskey'],
  ],
  'a code of an authenticator app': ['confirmTotp', 'reauthenticateWithTotp'],
  'an enabled second factor': ['removeTotp', 'makeRecoveryCodes'],
  'a signature of a passkey': [
    'addPasskey',
    'renamePasskey',
    'removePasskey',
    'reauthenticateWithPasskey',
    'logInWithPasskey',
  ],
  'an identity provider': ['beginIdentity', 'confirmIdentity', 'deleteIdentity'],
  'a DNS record': ['verifyDomain'],
  'another member, who must be invited first': ['deleteMember', 'leaveOrganization'],
}

export const undrawable: ReadonlySet<string> = new Set(Object.values(reasons).flat())
