import type { BaseRequest } from '../../http/route.ts'

/** The target of a link (RFC 8288) to another page of the requested list. */
export function linkTo({ services, url, query }: BaseRequest, parameter: string, cursor: string): string {
  const others = query.filter(({ name }) => name !== 'startingAfter' && name !== 'endingBefore')
  const parameters = [...others, { name: parameter, value: cursor }]
  const text = parameters.map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  return `<${services.origin}${url.split('?')[0]}?${text.join('&')}>`
}
