import { lazyRouteComponent } from '@tanstack/react-router'
import type { ListParts } from '../views/list-page.tsx'

/** Loads the board's code, so that it appears together with the rest of the page. */
export const preloadBoard = (resource: string): Promise<unknown> => Promise.resolve(boards[resource]?.preload?.())

/** The boards of lists, by resource; loaded with the first one that is shown. */
export const boards: ListParts['boards'] = {
  deals: lazyRouteComponent(() => import('../deals/deals-board.tsx'), 'DealsBoard'),
}
