/**
 * The script of the account page. The link's secret stands in the fragment, which no server sees; it is taken out of the
 * address at once, so that it stays in no history. Nothing is shown as HTML.
 */
export const pageScript = `const fields = {
  email: { label: 'Email', type: 'email', autocomplete: 'username' },
  name: { label: 'Your name', autocomplete: 'name' },
  organization: { label: 'Your organization', autocomplete: 'organization' },
  code: { label: 'Code', autocomplete: 'one-time-code', hint: 'Six digits from your authenticator app.' },
  password: { label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'At least 12 characters; a few words that nobody would guess.' },
}
const views = {
  'set-up': { heading: 'Set up Rapport', lead: 'You become the first owner.', names: ['email', 'name', 'organization', 'password'], path: '/auth/set-up', button: 'Set up', cookie: true, done: 'All set: you are logged in.' },
  'sign-up': { heading: 'Make your account', lead: 'Your address is confirmed.', names: ['name', 'organization', 'password'], path: '/auth/sign-up/confirm', button: 'Make the account', cookie: true, done: 'Welcome: you are logged in.' },
  'invitation': { heading: 'Join your team', lead: '', names: ['name', 'password'], path: '/auth/invitations/accept', button: 'Join', cookie: true, done: 'Welcome: you are logged in.' },
  'own-invitation': { heading: 'Join another team', lead: '', names: [], path: '/v5/me/invitations', button: 'Join', asPerson: true, done: 'You have joined. Your account and its log-in stay as they are.' },
  'reset-password': { heading: 'Set a new password', lead: 'Every session of yours ends with it.', names: ['password'], path: '/auth/reset-password', button: 'Set the password', done: 'The password is set. Log in with it.' },
  'second-factor': { heading: 'One more step', lead: 'Your organization’s provider knows you. Your account asks for a code too.', names: ['code'], path: '/auth/login/totp', button: 'Log in', tokenName: 'pendingToken', done: 'You are logged in.' },
  'sso-begin': { heading: 'Log in', lead: 'Another site has led you here, to log in at your organization’s provider.', names: [], button: 'Log in', leaves: true },
  'sso-link': { heading: 'Link this log-in', lead: 'From then on you can log in at your organization’s provider.', names: [], path: '/v5/me/identities/confirm', button: 'Link', asPerson: true, done: 'It is linked.' },
  'verify-address': { heading: 'Confirm your address', lead: 'One click, and it is yours.', names: [], path: '/auth/verify-address', button: 'Confirm', done: 'Your address is confirmed.' },
}
const byId = (id) => document.getElementById(id)
const [purpose = '', secret = ''] = location.hash.slice(1).split('=', 2)
history.replaceState(null, '', location.pathname)
let view = Object.hasOwn(views, purpose) && secret ? views[purpose] : undefined

function say(text, isBad = false) {
  byId('message').textContent = text
  byId('message').className = isBad ? 'bad' : ''
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties)
}

function fieldOf(name) {
  const { label, hint, type = 'text', autocomplete } = fields[name]
  const input = element('input', { id: name, name, type, autocomplete, required: true })
  const parts = [element('label', { htmlFor: name, textContent: label }), input]
  if (hint) parts.push(element('p', { className: 'hint', id: name + '-hint', textContent: hint }))
  parts.push(element('p', { className: 'fault', id: name + '-fault' }))
  input.setAttribute('aria-describedby', (hint ? name + '-hint ' : '') + name + '-fault')
  return parts
}

async function post(path, body, accessToken) {
  const headers = { 'content-type': 'application/json', ...(accessToken && { authorization: 'Bearer ' + accessToken }) }
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  return { isGood: answer.ok, body: text === '' ? {} : JSON.parse(text) }
}

// Most messages go on after the name of the field; those about passwords stand alone.
function sentence(label, message) {
  return /^(?:a|this) /.test(message) ? message[0].toUpperCase() + message.slice(1) : label + ' ' + message
}

// What is wrong with the link itself is a fault of its secret.
function whatIsWrong({ details = [], description }) {
  const ofLink = details.find(({ field }) => field === 'token' || field === 'pendingToken')
  return ofLink ? 'This link ' + ofLink.message + '.' : description || 'That did not work. Try again.'
}

function showFaults({ details = [], ...rest }) {
  let first
  for (const { field, message } of details) {
    const input = byId(field)
    if (!input || !byId(field + '-fault')) continue
    input.setAttribute('aria-invalid', 'true')
    byId(field + '-fault').textContent = sentence(fields[field].label, message)
    first ??= input
  }
  if (first) first.focus()
  else say(whatIsWrong({ details, ...rest }), true)
}

// Another address than the account has is confirmed by the person who is logged in here.
async function send(body) {
  if (view.asPerson) {
    const session = await post('/auth/refresh', {})
    if (session.isGood) return post(view.path, body, session.body.accessToken)
    return { isGood: false, body: { description: 'Nobody is logged in here. Log in, then open the link again: it stays good.' } }
  }
  const answer = await post(view.path, body)
  if (purpose !== 'verify-address' || answer.isGood || answer.body.code !== 'insufficient_permissions') return answer
  const session = await post('/auth/refresh', {})
  return session.isGood ? post('/v5/me/address/confirm', body, session.body.accessToken) : answer
}

async function submit(event) {
  event.preventDefault()
  if (view.leaves) return location.assign('/auth/sso/' + encodeURIComponent(secret))
  const button = byId('send')
  button.disabled = true
  say('')
  for (const name of view.names) {
    byId(name).removeAttribute('aria-invalid')
    byId(name + '-fault').textContent = ''
  }
  const values = Object.fromEntries(view.names.map((name) => [name, byId(name).value]).filter(([, value]) => value !== ''))
  try {
    const { isGood, body } = await send({ ...values, [view.tokenName ?? 'token']: secret, ...(view.cookie && { cookie: true }) })
    if (isGood) finish()
    else showFaults(body)
  } catch {
    say('The service cannot be reached. Try again.', true)
  }
  button.disabled = false
}

function finish() {
  byId('form').hidden = true
  byId('heading').textContent = 'Done'
  byId('lead').textContent = view.done
  byId('heading').focus()
}

async function start() {
  if (purpose === 'logged-in') {
    byId('lead').textContent = 'You are logged in.'
    return
  }
  if (!view) {
    byId('lead').textContent = purpose === 'sso-error' ? 'Logging in at your provider did not work' + (/^[a-z-]{1,40}$/.test(secret) ? ' (' + secret + ')' : '') + '. Try again, or ask an owner of your organization.' : 'Open the link that was sent to you, or that the service printed when it started. A link works once.'
    return
  }
  byId('heading').textContent = view.heading
  byId('lead').textContent = view.lead
  if (purpose === 'invitation') {
    const { isGood, body } = await post('/auth/invitations/look', { token: secret })
    if (!isGood) return say(whatIsWrong(body), true)
    if (body.hasAccount) view = views['own-invitation']
    byId('heading').textContent = view.heading
    byId('lead').textContent = 'You are invited to ' + body.organization + ' as ' + body.email + '.'
  }
  const form = byId('form')
  form.append(...view.names.flatMap(fieldOf), element('button', { id: 'send', type: 'submit', textContent: view.button }))
  form.addEventListener('submit', submit)
  form.hidden = false
  form.querySelector('input, button').focus()
}

start()
`
