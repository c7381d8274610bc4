import type { Feed } from './feed.ts'

declare module '../platform/http/route.ts' {
  interface Services {
    feed: Feed
    /** Days that the feed reaches back. */
    eventDays: number
  }
}
