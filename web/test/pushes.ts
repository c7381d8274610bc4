import { setTimeout as delay } from 'node:timers/promises'

/** Sends a request as clients should: retries after `Retry-After` if an overloaded service has refused it. */
export async function fetchServed(url: string, init: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, init)
    if (response.status !== 503 || attempt === 10) return response
    await delay(Number(response.headers.get('retry-after')) * 1000)
  }
}

/** Pushes a lead to the URL of an import; returns the status. */
export async function push(url: string, lead: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const body = typeof lead === 'string' ? lead : JSON.stringify(lead)
  return (await fetchServed(url, { method: 'POST', headers, body })).status
}
