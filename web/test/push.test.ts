import type { Browser, CDPSession } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import { newOwner } from '../../server/test/people.ts'
import { startTestService, type TestService } from '../../server/test/service.ts'
import { isInside, visit } from './visit.ts'

let service: TestService
let browser: Browser | undefined
/** Service workers need a host name or https. */
let home: string
beforeAll(async () => {
  service = await startTestService()
  home = service.url.replace('127.0.0.1', 'localhost')
  if (chromium) browser = await sharedChromium()
})
afterAll(() => service.close())

const worker = '/push-worker.js'
const scope = '/push-worker/'

/** Registers the worker of the application, and waits until it runs. */
const registration = `(async () => {
  const registration = await navigator.serviceWorker.register('${worker}', { scope: '${scope}' })
  const starting = registration.installing ?? registration.waiting
  if (starting && !registration.active)
    await new Promise((resolve) => starting.addEventListener('statechange', resolve))
})()`

/** Gives the worker a message, as a push service does. */
async function deliver(session: CDPSession, message: object): Promise<void> {
  const registrations: { registrationId: string; scopeURL: string }[] = []
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: found }) => registrations.push(...found))
  await session.send('ServiceWorker.enable')
  await expect.poll(() => registrations.find(({ scopeURL }) => scopeURL.endsWith(scope))).toBeDefined()
  const registrationId = registrations.find(({ scopeURL }) => scopeURL.endsWith(scope))?.registrationId ?? ''
  await session.send('ServiceWorker.deliverPushMessage', {
    origin: home,
    registrationId,
    data: JSON.stringify(message),
  })
}

/** Records what the worker does with the browser, which shows nothing without a screen. */
const recording = `
  self.done = []
  self.registration.showNotification = async (title, options) => void self.done.push({ title, ...options })
  self.clients.openWindow = async (url) => void self.done.push({ opened: url })`

const click = (path: string): string => `new Promise((resolve) => {
  const notification = { data: { path: '${path}' }, close: () => self.done.push('closed') }
  const waitUntil = (work) => work.then(() => resolve(self.done))
  self.dispatchEvent(Object.assign(new Event('notificationclick'), { notification, waitUntil }))
})`

test('the worker is served as a script that is always checked, and may load nothing', async () => {
  const { status, headers, text } = await service.anonymous('GET', worker)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(headers.get('cache-control')).toBe('no-cache')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(text).not.toMatch(/\bfetch\b|caches|importScripts/)
})

test.skipIf(!chromium)(
  'a message is shown in its language, a click opens its page, and no page is controlled',
  async () => {
    const person = await newOwner(service)
    const { page, errors } = await visit(browser, home, { person })
    await isInside(page)
    await page.evaluate(registration)
    await expect.poll(() => page.context().serviceWorkers().length).toBe(1)
    const [running] = page.context().serviceWorkers()
    await running?.evaluate(recording)
    const session = await page.context().newCDPSession(page)
    const message = { title: 'Ada anrufen', body: 'Erinnerung', language: 'de', path: '/tasks', tag: 'a1' }
    await deliver(session, message)
    const shown = { title: 'Ada anrufen', body: 'Erinnerung', tag: 'a1', lang: 'de', data: { path: '/tasks' } }
    await expect.poll(() => running?.evaluate('self.done')).toEqual([shown])
    const expected = [shown, 'closed', { opened: `${home}/tasks` }]
    expect(await running?.evaluate(click('/tasks'))).toEqual(expected)
    await page.reload()
    await isInside(page)
    expect(await page.evaluate('navigator.serviceWorker.controller')).toBeNull()
    expect(await page.evaluate('caches.keys()')).toEqual([])
    expect(errors).toEqual([])
  },
)
