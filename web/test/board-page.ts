import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Box, steadyBox } from './gestures.ts'
import type { Call, Json } from '../../server/test/service.ts'

/** A separate pipeline with deals, and helpers to read the board. */
export class BoardPage {
  readonly page: Page
  readonly call: Call
  readonly pipelineId: string
  /** The ids of the stages, by name. */
  readonly stages: Readonly<Record<string, string>>

  private constructor(page: Page, call: Call, pipelineId: string, stages: Record<string, string>) {
    Object.assign(this, { page, call, pipelineId, stages })
    this.page = page
    this.call = call
    this.pipelineId = pipelineId
    this.stages = stages
  }

  /** `deals`: the names in each stage from the top, such as `{ Lead: ['a', 'b'] }`. Each is worth 100 EUR. */
  static async open(page: Page, call: Call, name: string, deals: Record<string, string[]>): Promise<BoardPage> {
    const create = async (path: string, body: object) => {
      const { status, body: created, text } = await call('POST', path, { body })
      expect(status, text).toBe(201)
      return created
    }
    const { id } = await create('/v5/pipelines', { name })
    const stages: Record<string, string> = {}
    for (const [stage, kind] of kinds)
      stages[stage] = (await create(`/v5/pipelines/${id}/stages`, { name: stage, kind, rottingDays: null })).id
    for (const [stage, names] of Object.entries(deals))
      for (const deal of names.toReversed())
        await create('/v5/deals', { name: deal, amount: '100', currency: 'EUR', stageId: stages[stage] })
    const board = new BoardPage(page, call, id, stages)
    await board.show()
    return board
  }

  async show(): Promise<void> {
    await this.page.goto(`/deals?view=board&board=${this.pipelineId}`)
    await this.column('Lead').waitFor()
    await this.page.locator('[aria-busy=false]').first().waitFor()
  }

  column = (stage: string): Locator => this.page.getByRole('region', { name: stage, exact: true })
  /** The total of a column, or its weighted total. */
  total = (stage: string, text: string): Locator => this.column(stage).getByRole('paragraph').filter({ hasText: text })
  card = (name: string): Locator =>
    this.page.getByRole('listitem').filter({ has: this.page.getByRole('link', { name, exact: true }) })

  /** The names of the cards in a column, from the top. */
  async names(stage: string): Promise<string[]> {
    return (await this.places(stage)).map(({ name }) => name)
  }

  /** The same with their numbers in the column, from 1. */
  async places(stage: string): Promise<{ name: string; at: number }[]> {
    const found: { name: string; at: number }[] = await this.column(stage)
      .locator('[data-card]')
      .evaluateAll((cards: Json[]) =>
        cards.map((card) => ({ name: card.querySelector('a').textContent, at: Number(card.ariaPosInSet) })),
      )
    return found.sort((one, other) => one.at - other.at)
  }

  async expectNames(expected: Record<string, string[]>): Promise<void> {
    for (const [stage, names] of Object.entries(expected)) await expect.poll(() => this.names(stage)).toEqual(names)
  }

  /** The same on the service. */
  async expectStored(expected: Record<string, string[]>): Promise<void> {
    for (const [stage, names] of Object.entries(expected)) {
      const path = `/v5/deals?stageId=${this.stages[stage]}&orderBy=position&sort=asc`
      const read = async () => (await this.call('GET', path)).body.map(({ name }: Json) => name)
      await expect.poll(read, { message: `the deals in ${stage}` }).toEqual(names)
    }
  }

  async deal(name: string): Promise<Json> {
    const { body } = await this.call('GET', `/v5/deals?pipelineId=${this.pipelineId}&name=${encodeURIComponent(name)}`)
    return body[0]
  }

  /** Drags from a card to the middle of an element, in steps like a hand. */
  async drag(name: string, to: { x: number; y: number }): Promise<void> {
    const box = await this.boxOf(name)
    await this.page.mouse.move(box.x + 20, box.y + box.height / 2)
    await this.page.mouse.down()
    await this.page.mouse.move(to.x, to.y, { steps: 6 })
  }

  boxOf = (name: string): Promise<Box> => steadyBox(this.card(name))

  /** The pointer position that puts a dragged card at the top of a column. */
  async topOf(stage: string): Promise<{ x: number; y: number }> {
    const box = await steadyBox(this.column(stage).getByRole('list'))
    return { x: box.x + box.width / 2, y: box.y + 40 }
  }

  toast = (text: string | RegExp): Locator =>
    this.page.getByRole('region', { name: 'Notifications' }).getByText(text).first()

  announcement = (): Promise<string | null> => this.page.locator('[aria-live=assertive]').first().textContent()
}

const kinds = [
  ['Lead', 'open'],
  ['Offer', 'open'],
  ['Won', 'won'],
  ['Lost', 'lost'],
] as const
