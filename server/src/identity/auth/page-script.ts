import { pageData } from './page-views.ts'

/**
 * The script of the account page. The link's secret stands in the fragment, which no server sees; it is taken out of the
 * address at once, so that it stays in no history. Nothing is shown as HTML.
 */
export const pageScript = `const { fields, links, views, ssoErrors } = ${pageData}
const byId = (id) => document.getElementById(id)
const element = (name, properties) => Object.assign(document.createElement(name), properties)
// What is open now: its view, the secret of its link, and the address that the link is for.
let view, purpose, secret, address
// A link that waits until its person has logged in.
let waiting

function say(text, isBad = false) {
  byId('message').textContent = text
  byId('message').className = isBad ? 'bad' : ''
}

function head(title, lead = '') {
  byId('heading').textContent = title
  byId('lead').textContent = lead
  document.title = title + ' · Rapport'
}

function offer(names = [], note = '') {
  byId('note').textContent = note
  byId('next').replaceChildren(...names.map((name) => {
    const { text, href } = links[name]
    const item = element('li', {})
    item.append(element('a', { textContent: text, href: href === 'explorer' ? document.body.dataset.explorer : href }))
    return item
  }))
}

const inputs = () => [...byId('form').querySelectorAll('input')]

function revealOf(input) {
  const button = element('button', { type: 'button', className: 'reveal', textContent: 'Show' })
  const set = (isShown) => {
    input.type = isShown ? 'text' : 'password'
    button.textContent = isShown ? 'Hide' : 'Show'
    button.setAttribute('aria-label', (isShown ? 'Hide' : 'Show') + ' the password')
  }
  button.setAttribute('aria-controls', input.id)
  set(false)
  button.addEventListener('click', () => set(input.type === 'password'))
  // A browser offers to store what is typed into a password field.
  byId('form').addEventListener('submit', () => set(false))
  return button
}

function fieldOf(name) {
  const { as: id = name, label, hint, type = 'text', autocomplete = '', isChecked } = fields[name]
  const input = element('input', { id, name: id, type, autocomplete, required: true, spellcheck: false })
  input.setAttribute('autocapitalize', id === 'name' || id === 'organization' ? 'words' : 'none')
  const row = element('div', { className: 'row' })
  row.append(input)
  if (type === 'password') row.append(revealOf(input))
  const parts = [element('label', { htmlFor: id, textContent: label }), row]
  if (hint) parts.push(element('p', { className: 'hint', id: id + '-hint', textContent: hint }))
  parts.push(element('p', { className: 'fault', id: id + '-fault' }))
  input.setAttribute('aria-describedby', (hint ? id + '-hint ' : '') + id + '-fault')
  input.addEventListener('input', () => mark(input, ''))
  if (isChecked) input.addEventListener('change', () => checkPassword(input).catch(() => undefined))
  return parts
}

function mark(input, text) {
  if (text) input.setAttribute('aria-invalid', 'true')
  else input.removeAttribute('aria-invalid')
  byId(input.id + '-fault').textContent = text
}

async function post(path, body, accessToken) {
  const headers = { 'content-type': 'application/json', ...(accessToken && { authorization: 'Bearer ' + accessToken }) }
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  return { isGood: answer.ok, body: text === '' ? {} : JSON.parse(text) }
}

// The rules of the server, before the rest is filled in.
async function checkPassword(input) {
  const password = input.value
  if (password === '') return
  const valueOf = (id) => byId(id)?.value.trim() ?? ''
  const email = address ?? valueOf('email')
  const names = [valueOf('name'), valueOf('organization')].filter(Boolean)
  const checked = await post('/auth/passwords/check', { password, names, ...(byId('email')?.checkValidity() !== false && email && { email }) })
  if (checked.isGood && checked.body.fault && input.value === password) mark(input, sentence('Password', checked.body.fault))
}

// Most messages go on after the name of the field; those about passwords stand alone.
function sentence(label, message) {
  return /^(?:a|this|expected) /.test(message) ? message[0].toUpperCase() + message.slice(1) : label + ' ' + message
}

// What is wrong with the link itself is a fault of its secret.
function whatIsWrong({ details = [], description }) {
  const ofLink = details.find(({ field }) => field === 'token' || field === 'pendingToken')
  return ofLink ? 'This link ' + ofLink.message + '.' : description || 'That did not work. Try again.'
}

function showFaults(fault) {
  const { details = [] } = fault
  const marked = []
  for (const input of inputs()) {
    const message = details.find(({ field }) => field === input.id)?.message
    if (message === undefined) continue
    mark(input, sentence(input.labels[0].textContent, message))
    marked.push(input)
  }
  const others = details.filter(({ field }) => !marked.some(({ id }) => id === field))
  if (marked.length === 0 || others.length > 0) say(whatIsWrong({ ...fault, details: others }), true)
  else if (marked.length > 1) say('Check the ' + marked.length + ' marked fields.', true)
  marked[0]?.focus()
}

const session = () => post('/auth/refresh', {})

async function postAs(accessToken, body) {
  const answer = await post(view.path, body, accessToken)
  if (!answer.isGood || !view.shows) return answer
  // A key is of no use without the organization that every request with it names.
  const found = await fetch('/v5/organization', { headers: { authorization: 'Bearer ' + accessToken } })
  return { ...answer, body: { ...answer.body, organizationId: (await found.json()).id } }
}

// Another address than the account has is confirmed by the person who is logged in here.
async function send(body) {
  if (view.asPerson) {
    const own = await session()
    if (own.isGood) return postAs(own.body.accessToken, body)
    waiting = { purpose, secret }
    offer(['logIn'])
    return { isGood: false, body: { description: 'You are not logged in. Log in to continue; the link still works.' } }
  }
  const path = purpose === 'second-factor' && !/^\\d{6}$/.test(body.code) ? '/auth/login/recovery-code' : view.path
  const answer = await post(path, body)
  if (purpose !== 'verify-address' || answer.isGood || answer.body.code !== 'insufficient_permissions') return answer
  const own = await session()
  if (own.isGood) return post('/v5/me/address/confirm', body, own.body.accessToken)
  waiting = { purpose, secret }
  offer(['logIn'])
  return answer
}

async function submit(event) {
  event.preventDefault()
  if (view.leaves) return location.assign('/auth/sso/' + encodeURIComponent(secret))
  const button = byId('send')
  button.disabled = true
  say('')
  for (const input of inputs()) mark(input, '')
  const values = Object.fromEntries(inputs().map(({ id, value }) => [id, value.trim() === '' ? '' : value]).filter(([, value]) => value !== ''))
  const token = view.isOpen ? {} : { [view.tokenName ?? 'token']: secret }
  try {
    const { isGood, body } = await send({ ...values, ...view.values, ...token, ...(view.cookie && { cookie: true }) })
    if (isGood) finish(body)
    else if (view === views['own-invitation'] && body.code === 'insufficient_permissions') useOtherAccount()
    else showFaults(body)
  } catch {
    say('The service cannot be reached. Try again.', true)
  }
  button.disabled = false
}

// The invitation is to another address than that of the account that is logged in here.
function useOtherAccount() {
  view = views.invitation
  render()
  say('You are logged in with a different address. Create an account with ' + address + ', or log in with it.', true)
}

function finish(body) {
  if (body.status === 'second_factor_required') return open('second-factor', body.pendingToken)
  if (waiting?.secret === secret) waiting = undefined
  const isIn = purpose === 'log-in' || purpose === 'second-factor'
  if (isIn && waiting) {
    const { purpose: before, secret: kept } = waiting
    waiting = undefined
    return open(before, kept)
  }
  byId('form').hidden = true
  byId('form').replaceChildren()
  head('Done', view.done)
  if (view.shows) {
    byId('shown').hidden = false
    byId('shown').textContent = body[view.shows]
  }
  offer(view.next, view.shows ? 'Every request with it also has the header Service-Organization-ID: ' + body.organizationId : '')
  byId('heading').focus()
}

function reset() {
  view = address = undefined
  byId('form').hidden = true
  byId('form').replaceChildren()
  byId('shown').hidden = true
  byId('shown').textContent = ''
  say('')
  offer()
}

function explain(title, lead, next) {
  head(title, lead)
  offer(next)
}

function explainError() {
  const isKnown = Object.hasOwn(ssoErrors, secret)
  explain('Login failed', isKnown ? ssoErrors[secret] : 'The login at your provider failed.', secret === 'not-verified' ? ['forgot', 'logIn'] : ['logIn'])
}

// Of an invitation the address and the organization are told; every other link only whether it works.
async function look() {
  if (!view.isCheckable && purpose !== 'invitation') return true
  const path = purpose === 'invitation' ? '/auth/invitations/preview' : '/auth/links/check'
  const { isGood, body } = await post(path, { token: secret, ...(view.isCheckable && { purpose }) })
  // Anything but a dead link, such as too many requests, shows when the form is sent.
  if (!isGood && !body.details?.some(({ field }) => field === 'token')) return true
  if (!isGood) {
    explain('This link no longer works', 'It was already used or has expired. ' + view.dead, view.ifDead)
    return false
  }
  address = body.email ?? undefined
  if (purpose !== 'invitation') return true
  const isIn = (await session()).isGood
  if (isIn) view = views['own-invitation']
  head(view.heading, 'You are invited to ' + body.organization + ' as ' + body.email + '.')
  return true
}

async function open(name, text = '') {
  reset()
  purpose = name
  secret = text
  view = Object.hasOwn(views, purpose) ? views[purpose] : undefined
  if (purpose === 'logged-in') explain('Welcome', 'You are logged in.', views['log-in'].next)
  else if (purpose === 'sso-error') explainError()
  else if (purpose === '') return (await session()).isGood ? open('logged-in') : open('log-in')
  else if (!view || !(secret || view.isOpen)) {
    view = undefined
    explain('Your account', 'Open the link that was sent to you or that the service printed when it started. Each link works once.', ['logIn'])
  }
  if (!view) return byId('heading').focus()
  const opened = view
  head(view.heading, view.lead)
  // Nothing is typed before it is known that the link works.
  if (!(await look().catch(() => true))) return byId('heading').focus()
  // Another link was opened meanwhile.
  if (purpose !== name || secret !== text || (view !== opened && purpose !== 'invitation')) return
  render()
}

function render() {
  const form = byId('form')
  form.replaceChildren(...view.names.flatMap(fieldOf), element('button', { id: 'send', type: 'submit', textContent: view.button }))
  form.hidden = false
  offer(view.other, view.note)
  if (view === views.invitation) waiting = { purpose, secret }
  form.querySelector('input, #send').focus()
}

function read() {
  const [name = '', text = ''] = location.hash.slice(1).split('=', 2)
  history.replaceState(null, '', location.pathname)
  if (name === '' && view) return
  open(name, text).catch(() => say('The service cannot be reached. Try again.', true))
}

byId('form').addEventListener('submit', submit)
// A browser may keep the page for its Back button: nothing that was typed stays in it.
addEventListener('pagehide', () => byId('form').reset())
addEventListener('hashchange', read)
read()
`
