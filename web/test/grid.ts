import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Json } from '../../server/test/service.ts'

/** Reads what a person sees of a list: the rows of the grid, the active cell, the selection. */
export class Grid {
  readonly page: Page
  readonly box: Locator

  constructor(page: Page) {
    this.page = page
    this.box = page.getByRole('grid')
  }

  /**
   * Waits until every row in the document is loaded. After a scroll or a key, the new rows are rendered with the next
   * frames.
   */
  async settle(): Promise<void> {
    await this.box.getByRole('gridcell').first().waitFor()
    const loading = () =>
      this.page.evaluate<number>(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
        done(document.querySelectorAll('[role=grid] [aria-busy=true]').length))))`)
    await expect.poll(loading, { timeout: 20_000 }).toBe(0)
  }

  /** The rows in the document by their index in the list, which starts at 0. */
  async rows(): Promise<Map<number, string | undefined>> {
    const found: [number, string | undefined][] = await this.box.evaluate((box) =>
      [...box.querySelectorAll('[role=row]')]
        .filter((row: Json) => row.querySelector('[role=gridcell]'))
        .map((row: Json) => [
          Number(row.getAttribute('aria-rowindex')) - 2,
          row.querySelector('a')?.getAttribute('href').split('/').pop(),
        ]),
    )
    return new Map(found.sort(([one], [other]) => one - other))
  }

  /** Row and column of the active cell, as assistive technology reports them. */
  async active(): Promise<{ index: number; column: string } | undefined> {
    const id = await this.box.getAttribute('aria-activedescendant')
    const [, index, column = ''] = /^cell-(\d+)-(.+)$/.exec(id ?? '') ?? []
    return index === undefined ? undefined : { index: Number(index), column }
  }

  async activeId(): Promise<string | undefined> {
    const active = await this.active()
    return active && (await this.rows()).get(active.index)
  }

  cell(index: number, column: string): Locator {
    return this.page.locator(`[id="cell-${index}-${column}"]`)
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key)
  }

  async scrollTo(offset: number): Promise<void> {
    await this.box.evaluate((box, top) => void (box.scrollTop = top), offset)
  }

  scrollTop(): Promise<number> {
    return this.box.evaluate((box) => box.scrollTop)
  }

  /** Waits until the active cell is this one. */
  async expectActive(index: number, column: string): Promise<void> {
    await expect.poll(() => this.active()).toEqual({ index, column })
  }
}
