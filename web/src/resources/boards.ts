import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'
import type { ListViewProps } from '../views/list-head.tsx'

/** Loads the code of the board, so that it appears with the rest of the page. */
export const preloadBoard = (resource: string): Promise<unknown> => Promise.resolve(boards[resource]?.preload?.())

/** The boards of lists, by resource; loaded with the first one that is shown. */
export const boards: Readonly<Record<string, AsyncRouteComponent<ListViewProps>>> = {
  deals: lazyRouteComponent(() => import('./deals/deals-board.tsx'), 'DealsBoard'),
}
