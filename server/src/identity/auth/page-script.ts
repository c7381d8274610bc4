import { pageData } from './page-views.ts'

/**
 * The script of the account page. The link's secret is in the URL's fragment, which is not sent to servers. It is
 * removed from the URL immediately, so that it does not stay in the history. Texts are never inserted as HTML.
 */
export const pageScript = `const { fields, links, views, ssoErrors } = ${pageData}
const byId = (id) => document.getElementById(id)
const element = (name, properties) => Object.assign(document.createElement(name), properties)
// The open view, the secret of its link, and the address that the link is for.
let view, purpose, secret, address
// A link to continue with after the login.
let pendingLink

function showMessage(text, isBad = false) {
  byId('message').textContent = text
  byId('message').className = isBad ? 'bad' : ''
}

function setHeading(title, lead = '') {
  byId('heading').textContent = title
  byId('lead').textContent = lead
  document.title = title + ' · Rapport'
}

function showLinks(names = [], note = '') {
  byId('note').textContent = note
  byId('next').replaceChildren(...names.map((name) => {
    const { text, href } = links[name]
    const item = element('li', {})
    item.append(element('a', { textContent: text, href: href === 'explorer' ? document.body.dataset.explorer : href }))
    return item
  }))
}

const inputs = () => [...byId('form').querySelectorAll('input')]

function createRevealButton(input) {
  const button = element('button', { type: 'button', className: 'reveal', textContent: 'Show' })
  const set = (isShown) => {
    input.type = isShown ? 'text' : 'password'
    button.textContent = isShown ? 'Hide' : 'Show'
    button.setAttribute('aria-label', (isShown ? 'Hide' : 'Show') + ' the password')
  }
  button.setAttribute('aria-controls', input.id)
  set(false)
  button.addEventListener('click', () => set(input.type === 'password'))
  // Browsers offer to store only what is in a password field.
  byId('form').addEventListener('submit', () => set(false))
  return button
}

function createField(name) {
  const { as: id = name, label, hint, type = 'text', autocomplete = '', isChecked } = fields[name]
  const input = element('input', { id, name: id, type, autocomplete, required: true, spellcheck: false })
  input.setAttribute('autocapitalize', id === 'name' || id === 'organization' ? 'words' : 'none')
  const row = element('div', { className: 'row' })
  row.append(input)
  if (type === 'password') row.append(createRevealButton(input))
  const parts = [element('label', { htmlFor: id, textContent: label }), row]
  if (hint) parts.push(element('p', { className: 'hint', id: id + '-hint', textContent: hint }))
  parts.push(element('p', { className: 'fault', id: id + '-fault' }))
  input.setAttribute('aria-describedby', (hint ? id + '-hint ' : '') + id + '-fault')
  input.addEventListener('input', () => setFault(input, ''))
  if (isChecked) input.addEventListener('change', () => checkPassword(input).catch(() => undefined))
  return parts
}

function setFault(input, text) {
  if (text) input.setAttribute('aria-invalid', 'true')
  else input.removeAttribute('aria-invalid')
  byId(input.id + '-fault').textContent = text
}

async function post(path, body, accessToken) {
  const headers = { 'content-type': 'application/json', ...(accessToken && { authorization: 'Bearer ' + accessToken }) }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  return { isOk: response.ok, body: text === '' ? {} : JSON.parse(text) }
}

// Checks the server's password rules before the rest is filled in.
async function checkPassword(input) {
  const password = input.value
  if (password === '') return
  const valueOf = (id) => byId(id)?.value.trim() ?? ''
  const email = address ?? valueOf('email')
  const names = [valueOf('name'), valueOf('organization')].filter(Boolean)
  const checked = await post('/auth/passwords/check', { password, names, ...(byId('email')?.checkValidity() !== false && email && { email }) })
  if (checked.isOk && checked.body.fault && input.value === password) setFault(input, sentence('Password', checked.body.fault))
}

// Most messages continue the field's label; those about passwords are complete sentences.
function sentence(label, message) {
  return /^(?:a|this|expected) /.test(message) ? message[0].toUpperCase() + message.slice(1) : label + ' ' + message
}

// A fault of the token is a fault of the link.
function errorMessage({ details = [], description }) {
  const linkFault = details.find(({ field }) => field === 'token' || field === 'pendingToken')
  return linkFault ? 'This link ' + linkFault.message + '.' : description || 'That did not work. Try again.'
}

function showFaults(fault) {
  const { details = [] } = fault
  const marked = []
  for (const input of inputs()) {
    const message = details.find(({ field }) => field === input.id)?.message
    if (message === undefined) continue
    setFault(input, sentence(input.labels[0].textContent, message))
    marked.push(input)
  }
  const others = details.filter(({ field }) => !marked.some(({ id }) => id === field))
  if (marked.length === 0 || others.length > 0) showMessage(errorMessage({ ...fault, details: others }), true)
  else if (marked.length > 1) showMessage('Check the ' + marked.length + ' marked fields.', true)
  marked[0]?.focus()
}

const session = () => post('/auth/refresh', {})

async function postAs(accessToken, body) {
  const response = await post(view.path, body, accessToken)
  if (!response.isOk || !view.shownProperty) return response
  // Every request with the key needs the organization's id, so that is shown too.
  const found = await fetch('/v5/organization', { headers: { authorization: 'Bearer ' + accessToken } })
  return { ...response, body: { ...response.body, organizationId: (await found.json()).id } }
}

// A new address is confirmed with the session of this browser.
async function send(body) {
  if (view.asPerson) {
    const current = await session()
    if (current.isOk) return postAs(current.body.accessToken, body)
    pendingLink = { purpose, secret }
    showLinks(['logIn'])
    return { isOk: false, body: { description: 'You are not logged in. Log in to continue; the link still works.' } }
  }
  const path = purpose === 'second-factor' && !/^\\d{6}$/.test(body.code) ? '/auth/login/recovery-code' : view.path
  const response = await post(path, body)
  if (purpose !== 'verify-address' || response.isOk || response.body.code !== 'insufficient_permissions') return response
  const current = await session()
  if (current.isOk) return post('/v5/me/address/confirm', body, current.body.accessToken)
  pendingLink = { purpose, secret }
  showLinks(['logIn'])
  return response
}

async function submit(event) {
  event.preventDefault()
  if (view.redirects) return location.assign('/auth/sso/' + encodeURIComponent(secret))
  const button = byId('send')
  button.disabled = true
  showMessage('')
  for (const input of inputs()) setFault(input, '')
  const values = Object.fromEntries(inputs().map(({ id, value }) => [id, value.trim() === '' ? '' : value]).filter(([, value]) => value !== ''))
  const token = view.isOpen ? {} : { [view.tokenName ?? 'token']: secret }
  try {
    const { isOk, body } = await send({ ...values, ...view.values, ...token, ...(view.cookie && { cookie: true }) })
    if (isOk) finish(body)
    else if (view === views['own-invitation'] && body.code === 'insufficient_permissions') useOtherAccount()
    else showFaults(body)
  } catch {
    showMessage('The service cannot be reached. Try again.', true)
  }
  button.disabled = false
}

// The invitation is for a different address than the logged-in account's.
function useOtherAccount() {
  view = views.invitation
  render()
  showMessage('You are logged in with a different address. Create an account with ' + address + ', or log in with it.', true)
}

function finish(body) {
  if (body.status === 'second_factor_required') return openView('second-factor', body.pendingToken)
  if (pendingLink?.secret === secret) pendingLink = undefined
  const isIn = purpose === 'log-in' || purpose === 'second-factor'
  if (isIn && pendingLink) {
    const { purpose: savedPurpose, secret: savedSecret } = pendingLink
    pendingLink = undefined
    return openView(savedPurpose, savedSecret)
  }
  byId('form').hidden = true
  byId('form').replaceChildren()
  setHeading('Done', view.done)
  if (view.shownProperty) {
    byId('shown').hidden = false
    byId('shown').textContent = body[view.shownProperty]
  }
  showLinks(view.next, view.shownProperty ? 'Every request with it also has the header Service-Organization-ID: ' + body.organizationId : '')
  byId('heading').focus()
}

function reset() {
  view = address = undefined
  byId('form').hidden = true
  byId('form').replaceChildren()
  byId('shown').hidden = true
  byId('shown').textContent = ''
  showMessage('')
  showLinks()
}

function showNotice(title, lead, next) {
  setHeading(title, lead)
  showLinks(next)
}

function showSsoError() {
  const isKnown = Object.hasOwn(ssoErrors, secret)
  showNotice('Login failed', isKnown ? ssoErrors[secret] : 'The login at your provider failed.', secret === 'not-verified' ? ['forgot', 'logIn'] : ['logIn'])
}

// Checks the link. For an invitation, the address and the organization are shown too.
async function checkLink() {
  if (!view.isCheckable && purpose !== 'invitation') return true
  const path = purpose === 'invitation' ? '/auth/invitations/preview' : '/auth/links/check'
  const { isOk, body } = await post(path, { token: secret, ...(view.isCheckable && { purpose }) })
  // Other errors, such as too many requests, are shown when the form is sent.
  if (!isOk && !body.details?.some(({ field }) => field === 'token')) return true
  if (!isOk) {
    showNotice('This link no longer works', 'It was already used or has expired. ' + view.deadText, view.deadLinks)
    return false
  }
  address = body.email ?? undefined
  if (purpose !== 'invitation') return true
  const isIn = (await session()).isOk
  if (isIn) view = views['own-invitation']
  setHeading(view.heading, 'You are invited to ' + body.organization + ' as ' + body.email + '.')
  return true
}

async function openView(name, text = '') {
  reset()
  purpose = name
  secret = text
  view = Object.hasOwn(views, purpose) ? views[purpose] : undefined
  if (purpose === 'logged-in') showNotice('Welcome', 'You are logged in.', views['log-in'].next)
  else if (purpose === 'sso-error') showSsoError()
  else if (purpose === '') return (await session()).isOk ? openView('logged-in') : openView('log-in')
  else if (!view || !(secret || view.isOpen)) {
    view = undefined
    showNotice('Your account', 'Open the link that was sent to you or that the service printed when it started. Each link works once.', ['logIn'])
  }
  if (!view) return byId('heading').focus()
  const opened = view
  setHeading(view.heading, view.lead)
  // The form appears only after the link has been checked.
  if (!(await checkLink().catch(() => true))) return byId('heading').focus()
  // Another link has been opened meanwhile.
  if (purpose !== name || secret !== text || (view !== opened && purpose !== 'invitation')) return
  render()
}

function render() {
  const form = byId('form')
  form.replaceChildren(...view.names.flatMap(createField), element('button', { id: 'send', type: 'submit', textContent: view.button }))
  form.hidden = false
  showLinks(view.other, view.note)
  if (view === views.invitation) pendingLink = { purpose, secret }
  form.querySelector('input, #send').focus()
}

function readFragment() {
  const [name = '', text = ''] = location.hash.slice(1).split('=', 2)
  history.replaceState(null, '', location.pathname)
  if (name === '' && view) return
  openView(name, text).catch(() => showMessage('The service cannot be reached. Try again.', true))
}

byId('form').addEventListener('submit', submit)
// The browser may cache the page for its Back button: clear what was typed.
addEventListener('pagehide', () => byId('form').reset())
addEventListener('hashchange', readFragment)
readFragment()
`
