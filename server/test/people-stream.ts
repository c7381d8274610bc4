import type { Json } from './service.ts'

/** Who has which records open, as a stream has shown. */
export interface PeopleStream {
  /** By id of the record, the people as in the events. */
  records: Map<string, Json[]>
  /** The data of the events, as text. */
  events: string[]
  /** Resolves when the service ends the stream. */
  ended: Promise<void>
  leave(): void
}

interface Credential {
  accessToken: string
  organizationId: string
}

/** Opens a stream of events and follows the people in it. */
export async function followPeople(
  url: string,
  { accessToken, organizationId }: Credential,
  query = '',
): Promise<PeopleStream> {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v5/events/stream${query}`, {
    headers: { authorization: `Bearer ${accessToken}`, 'service-organization-id': organizationId },
    signal: leaving.signal,
  })
  if (response.status !== 200) throw new Error(`The stream answered ${response.status}.`)
  const stream: PeopleStream = {
    records: new Map(),
    events: [],
    ended: Promise.resolve(),
    leave: () => leaving.abort(),
  }
  stream.ended = read(response, stream).catch(() => undefined)
  return stream
}

async function read({ body }: Response, { records, events }: PeopleStream): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^event: presence\ndata: (.*)$/.exec(block)?.[1]
      if (data === undefined) continue
      events.push(data)
      const event = JSON.parse(data) as Json
      if (event.isComplete) records.clear()
      for (const { recordId, people } of event.records) {
        if (people.length === 0) records.delete(recordId)
        else records.set(recordId, people)
      }
    }
  }
}
