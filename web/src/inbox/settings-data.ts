import { queryOptions } from '@tanstack/react-query'
import { type Schemas, send } from '../api/client.ts'
import { unlessTroubled } from '../api/connection.ts'
import { sendEdit } from '../api/edit.ts'
import { queryClient } from '../api/query-client.ts'
import type { EntryKind } from './inbox-data.ts'
import { loadInboxMessages } from './load-messages.ts'
import { inboxKey } from './unread-count.ts'

export type Way = 'inbox' | 'digest' | 'mail' | 'push'

export const weekDays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/** How the person wants to hear of what concerns them, in this organization. */
export type Settings = Schemas['InboxSettings']

const path = '/v5/inbox/settings'

export const settingsQuery = queryOptions({
  queryKey: [...inboxKey, 'settings'],
  queryFn: async ({ signal }) => (await send<Settings>('GET', path, { signal })).body,
})

export const loadSettings = (): Promise<unknown> =>
  Promise.all([loadInboxMessages(), unlessTroubled(queryClient.prefetchQuery(settingsQuery))])

const show = (change: (settings: Settings) => Settings): void =>
  void queryClient.setQueryData<Settings>(settingsQuery.queryKey, (settings) => settings && change(settings))

/** Only this kind: the person may have chosen ways of others meanwhile. */
const showWays = (kind: EntryKind, ways: readonly Way[]): void =>
  show((settings) => ({ ...settings, ways: { ...settings.ways, [kind]: ways } }))

/** The ways that the person has chosen for a kind. */
export const waysOf = ({ ways }: Settings, kind: EntryKind): readonly Way[] => ways[kind]

/** What is urgent is mailed at once, everything else in the daily mail. */
export const mailWayOf = (kind: EntryKind): Way => (kind === 'reminder' || kind === 'taskDue' ? 'mail' : 'digest')

/** Adds or removes a way of a kind: at once on the page, which shows the stored settings again if that fails. */
export async function chooseWay(seen: Settings, kind: EntryKind, way: Way, isChosen: boolean): Promise<void> {
  const others = waysOf(seen, kind).filter((one) => one !== way)
  const ways = isChosen ? [...others, way] : others
  showWays(kind, ways)
  try {
    const values = { [`ways.${kind}`]: ways }
    const { body } = await sendEdit<Settings>({ path, resource: 'inboxSettings', seen, values })
    showWays(kind, waysOf(body, kind))
  } catch (error) {
    await queryClient.invalidateQueries({ queryKey: settingsQuery.queryKey })
    throw error
  }
}

export async function saveDigest(seen: Settings, values: Pick<Settings, 'digestAt' | 'digestDays'>): Promise<void> {
  const { body } = await sendEdit<Settings>({ path, resource: 'inboxSettings', seen, values: { ...values } })
  const { digestAt, digestDays } = body
  show((settings) => ({ ...settings, digestAt, digestDays }))
}
