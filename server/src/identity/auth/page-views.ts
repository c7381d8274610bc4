/** Inputs of the account page. `as` is the name in the request if it differs from the input's. */
const fields = {
  email: { label: 'Email', type: 'email', autocomplete: 'username' },
  name: { label: 'Your name', autocomplete: 'name' },
  organization: { label: 'Your organization', autocomplete: 'organization' },
  code: {
    label: 'Code',
    autocomplete: 'one-time-code',
    hint: 'Six digits from your authenticator app, or a recovery code.',
  },
  keyName: {
    as: 'name',
    label: 'Name of the key',
    hint: 'What will use it, such as “Website form”.',
  },
  currentPassword: { as: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
  password: {
    label: 'Password',
    type: 'password',
    autocomplete: 'new-password',
    isChecked: true,
    hint: 'At least 12 characters: a few words that nobody would guess.',
  },
}

const links = {
  explorer: { text: 'Explore the API', href: 'explorer' },
  apiKey: { text: 'Create an API key', href: '#api-key' },
  logIn: { text: 'Log in', href: '#log-in' },
  forgot: { text: 'Forgot your password?', href: '#forgot-password' },
  logOut: { text: 'Log out', href: '#log-out' },
}

const start = ['apiKey', 'explorer']
const inside = [...start, 'logOut']

/**
 * The views of the account page, by the fragment of the page's URL. `path`: where the form is sent, with the session of
 * this browser if `asPerson`. `isOpen`: no link is needed. `isCheckable`: the link is checked when it is opened. Links
 * to show: `next` after success, `other` as alternatives, `deadLinks` if the link no longer works.
 */
const views = {
  'set-up': {
    heading: 'Set up Rapport',
    lead: 'Create the first account and its organization. You become the owner.',
    names: ['email', 'name', 'organization', 'password'],
    path: '/auth/set-up',
    button: 'Set up',
    isCheckable: true,
    cookie: true,
    done: 'Rapport is set up, and you are logged in.',
    next: start,
    deadText: 'Restart Rapport to print a new link, or log in if it is already set up.',
    deadLinks: ['logIn'],
  },
  'sign-up': {
    heading: 'Create your account',
    lead: 'Your address is confirmed.',
    names: ['name', 'organization', 'password'],
    path: '/auth/sign-up/confirm',
    button: 'Create the account',
    isCheckable: true,
    cookie: true,
    done: 'Welcome. You are logged in.',
    next: start,
    deadText: 'Request a new link, or log in if you have already created the account.',
    deadLinks: ['logIn'],
  },
  invitation: {
    heading: 'Join your team',
    names: ['name', 'password'],
    path: '/auth/invitations/accept',
    button: 'Create an account and join',
    cookie: true,
    done: 'Welcome. You are logged in.',
    next: ['explorer'],
    deadText: 'Ask the person who invited you to resend the invitation, or log in if you have already accepted it.',
    deadLinks: ['logIn'],
    note: 'Do you already have an account with this address? Log in to join with it.',
    other: ['logIn'],
  },
  'own-invitation': {
    heading: 'Join another team',
    names: [],
    path: '/v5/me/invitations',
    button: 'Join',
    asPerson: true,
    done: 'You have joined. Your account and your password stay the same.',
    next: ['explorer', 'logOut'],
  },
  'reset-password': {
    heading: 'Set a new password',
    lead: 'This logs you out on every device.',
    names: ['password'],
    path: '/auth/reset-password',
    button: 'Set the password',
    isCheckable: true,
    done: 'Your new password is set. Log in with it.',
    next: ['logIn'],
    deadText: 'Request a new link. Each works once, for 30 minutes.',
    deadLinks: ['forgot', 'logIn'],
  },
  'verify-address': {
    heading: 'Confirm your address',
    lead: 'Confirm that this address is yours.',
    names: [],
    path: '/auth/verify-address',
    button: 'Confirm',
    isCheckable: true,
    done: 'Your address is confirmed.',
    next: ['logIn'],
    deadText:
      'If you have already confirmed the address, there is nothing to do. Otherwise log in and request a new link.',
    deadLinks: ['logIn'],
  },
  'second-factor': {
    heading: 'One more step',
    lead: 'Your account requires a second factor.',
    names: ['code'],
    path: '/auth/login/totp',
    button: 'Log in',
    tokenName: 'pendingToken',
    done: 'You are logged in.',
    next: inside,
  },
  'sso-begin': {
    heading: 'Log in',
    lead: 'Another site sent you here to log in at your organization’s provider.',
    names: [],
    button: 'Log in',
    redirects: true,
  },
  'sso-link': {
    heading: 'Link this login',
    lead: 'After that, you can log in at your organization’s provider.',
    names: [],
    path: '/v5/me/identities/confirm',
    button: 'Link',
    asPerson: true,
    done: 'Your login is linked.',
    next: inside,
  },
  'log-in': {
    heading: 'Log in',
    names: ['email', 'currentPassword'],
    path: '/auth/login',
    button: 'Log in',
    isOpen: true,
    cookie: true,
    done: 'You are logged in.',
    next: inside,
    other: ['forgot'],
  },
  'forgot-password': {
    heading: 'Set a new password',
    lead: 'We send a link to your address. If there is no mail server, ask an owner of your organization for the link.',
    names: ['email'],
    path: '/auth/forgot-password',
    button: 'Send the link',
    isOpen: true,
    done: 'If the address has an account, the link is on its way. It works once, for 30 minutes.',
    next: ['logIn'],
    other: ['logIn'],
  },
  'api-key': {
    heading: 'Create an API key',
    lead: 'Programs use it to read and write your organization’s records.',
    names: ['keyName'],
    path: '/v5/api-keys',
    button: 'Create the key',
    isOpen: true,
    asPerson: true,
    values: { scopes: ['urn:service:*:*:read', 'urn:service:*:*:write'] },
    done: 'This is your key. It is shown only once: store it in a safe place.',
    shownProperty: 'apiKey',
    next: ['explorer'],
  },
  'log-out': {
    heading: 'Log out',
    lead: 'Log out of Rapport in this browser.',
    names: [],
    path: '/auth/logout',
    button: 'Log out',
    isOpen: true,
    done: 'You are logged out.',
    next: ['logIn'],
  },
}

/** Why a login at a provider failed, for the person; the log and the guide have more details. */
const ssoErrors = {
  unavailable: 'This login is not available. Ask an owner of your organization.',
  provider: 'Your provider did not respond as expected. Try again later, or ask an owner of your organization.',
  denied: 'Your provider refused the login.',
  expired: 'The login took too long or was completed in a different browser. Try again.',
  'not-linked': 'No account is linked to this login. Log in and link it, or ask for an invitation.',
  'not-verified':
    'Your address has an account but was never verified by mail. Request a new password by mail, or log in and link this login.',
  'not-a-member': 'You are no longer a member of this organization. Ask for a new invitation.',
  'second-factor-needed': 'You are also a member of other organizations. Log in and add a second factor first.',
}

/** The data of the page's script, as JSON. */
export const pageData = JSON.stringify({ fields, links, views, ssoErrors })
