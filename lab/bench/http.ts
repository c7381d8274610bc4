import type { Account } from '../shared/service.ts'

/** The headers with the credentials. */
export const headersOf = ({ apiKey, organizationId }: Account): Record<string, string> => ({
  Authorization: `Bearer ${apiKey}`,
  'Service-Organization-ID': organizationId,
})

/** A request as text. */
export function requestBytes(method: string, target: string, headers: Record<string, string>, body?: string): string {
  const all: Record<string, string> = {
    Host: '127.0.0.1',
    ...headers,
    Accept: 'application/json',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(body)}` }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

/** Sends a GET request and returns the response text. Errors: any status but 200. */
export async function fetchText(port: number, target: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${target}`, { headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${target}: ${response.status}\n${text}`)
  return text
}
