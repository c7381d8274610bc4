import type { Json } from './service.ts'

type Get = (path: string) => Promise<{ body: Json; headers: Headers }>

/** All items of a list, page by page along `Link`. */
export async function allPages(get: Get, path: string, limit = 100): Promise<Json[]> {
  const all: Json[] = []
  let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`
  while (next !== undefined) {
    const { body, headers } = await get(next)
    all.push(...body)
    const url: string | undefined = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
    next = url === undefined ? undefined : new URL(url).pathname + new URL(url).search
  }
  return all
}
