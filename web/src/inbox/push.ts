import { queryOptions } from '@tanstack/react-query'
import { api, dataOf, type Schemas, sendAll } from '../api/client.ts'
import { currentLanguage } from '../preferences/locale.ts'

/** Whether this browser shows notifications. `denied`: the person has refused them, and only the browser can undo that. */
export type PushState = 'unsupported' | 'denied' | 'off' | 'on'

const worker = '/push-worker.js'
/** No page has such a path, so that the worker never comes between a page and the service. */
const scope = '/push-worker/'

/** Browsers offer this on https only, or on this machine. */
const isSupported = (): boolean => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

const ownSubscription = async (): Promise<PushSubscription | null> => {
  const registration = await navigator.serviceWorker.getRegistration(scope)
  return registration ? registration.pushManager.getSubscription() : null
}

/** That of this session, if the service has one. */
const storedSubscription = async (): Promise<Schemas['PushSubscription'] | undefined> => {
  const stored = await sendAll<Schemas['PushSubscription']>('/v5/inbox/push-subscriptions')
  return stored.find(({ isCurrent }) => isCurrent)
}

async function readState(): Promise<PushState> {
  if (!isSupported()) return 'unsupported'
  if (Notification.permission === 'denied') return 'denied'
  const [own, stored] = await Promise.all([ownSubscription(), storedSubscription()])
  return own && stored ? 'on' : 'off'
}

export const pushQuery = queryOptions({ queryKey: ['push'], queryFn: readState })

/** Asks the person, if the browser has not yet, and subscribes. Does nothing if they refuse. */
export async function turnOn(): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted') return
  const { publicKey } = await dataOf(api.GET('/v5/inbox/push-key'))
  await navigator.serviceWorker.register(worker, { scope, updateViaCache: 'none' })
  const { pushManager } = await activeRegistration()
  const subscription = await subscribe(pushManager, publicKey)
  const { endpoint = '', keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON()
  const body = { endpoint, p256dh, auth, language: currentLanguage() }
  await api.POST('/v5/inbox/push-subscriptions', { body })
}

/** A worker that is being installed cannot subscribe. `navigator.serviceWorker.ready` is about pages in its scope. */
async function activeRegistration(): Promise<ServiceWorkerRegistration> {
  const registration = await navigator.serviceWorker.getRegistration(scope)
  if (!registration) throw new Error('The browser did not store the service worker.')
  const starting = registration.installing ?? registration.waiting
  if (!registration.active && starting)
    await new Promise<void>((resolve) => {
      starting.addEventListener('statechange', () => {
        if (starting.state === 'activated' || starting.state === 'redundant') resolve()
      })
    })
  return registration
}

/** Of a browser that is subscribed to another key, as after a restore, the old subscription ends first. */
async function subscribe(pushManager: PushManager, publicKey: string): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: publicKey }
  const existing = await pushManager.getSubscription()
  try {
    return await pushManager.subscribe(options)
  } catch (error) {
    if (!existing) throw error
    await existing.unsubscribe()
    return pushManager.subscribe(options)
  }
}

export async function turnOff(): Promise<void> {
  const [own, stored] = await Promise.all([ownSubscription(), storedSubscription()])
  if (stored) {
    const path = { pushSubscriptionId: stored.id }
    await api.DELETE('/v5/inbox/push-subscriptions/{pushSubscriptionId}', { params: { path } })
  }
  await own?.unsubscribe()
}
