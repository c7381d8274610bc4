import { lazyRouteComponent } from '@tanstack/react-router'
import { loadRecordMessages } from '../messages/messages.ts'
import { currentLanguage } from '../preferences/locale.ts'
import type { ListParts } from '../views/list-page.tsx'

/** Loads the board's code and texts, so that it appears together with the rest of the page. */
export const preloadBoard = async (resource: string): Promise<void> => {
  const board = boards[resource]
  if (board) await Promise.all([board.preload?.(), loadRecordMessages(currentLanguage())])
}

/** The boards of lists, by resource; loaded with the first one that is shown. */
export const boards: ListParts['boards'] = {
  deals: lazyRouteComponent(() => import('../deals/deals-board.tsx'), 'DealsBoard'),
}
