import type { Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'

const { openPage, callAs, expectErrors } = useApplication()

let page: Page
let call: Call
let pipeline: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  call ??= await callAs()
  pipeline = (await call('POST', '/v5/pipelines', { body: { name: `Pipeline ${++number}` } })).body
})

const stages = async (id: string = pipeline.id): Promise<Json[]> =>
  (await call('GET', `/v5/pipelines/${id}/stages?orderBy=position&sort=asc`)).body
const addStage = async (name: string, values: object = {}): Promise<Json> => {
  const { status, body, text } = await call('POST', `/v5/pipelines/${pipeline.id}/stages`, {
    body: { name, ...values },
  })
  expect(status, text).toBe(201)
  return body
}
const expectStages = (...names: string[]) =>
  expect.poll(async () => (await stages()).map(({ name }) => name)).toEqual(names)
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const show = async () => {
  await page.goto(`/settings/pipelines?pipeline=${pipeline.id}`)
  await page.getByRole('heading', { level: 1, name: pipeline.name }).waitFor()
}
const choose = async (stage: string, action: string) => {
  await page.getByRole('button', { name: `Actions for ${stage}` }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

/** A gate that delays requests, and a function that opens it. */
const gate = (): [opened: Promise<void>, open: () => void] => {
  let open = () => {}
  return [new Promise<void>((resolve) => (open = resolve)), () => open()]
}

browserTest('a new pipeline has the usual stages, can be renamed, deleted and restored', async () => {
  await page.goto('/settings/pipelines')
  await page.getByRole('button', { name: 'New pipeline' }).click()
  const name = `Partners ${number}`
  await dialog('New pipeline').getByRole('textbox', { name: 'Name' }).fill(name)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name }).waitFor()
  const { body } = await call('GET', '/v5/pipelines?limit=100')
  const { id } = body.find((one: Json) => one.name === name)
  expect((await stages(id)).map((stage) => [stage.name, stage.kind, stage.probability, stage.rottingDays])).toEqual([
    ['Lead', 'open', 10, 14],
    ['Qualified', 'open', 25, 14],
    ['Proposal', 'open', 50, 21],
    ['Negotiation', 'open', 75, 14],
    ['Won', 'won', 100, null],
    ['Lost', 'lost', 0, null],
  ])
  await page.getByRole('button', { name: 'Rename' }).click()
  await dialog(/^Rename/)
    .getByRole('textbox')
    .fill(`${name} 2`)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: `${name} 2` }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog(`Delete the pipeline ${name} 2?`).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Pipelines' }).waitFor()
  expect((await call('GET', `/v5/pipelines/${id}`)).status).toBe(404)
  const deleted = page.getByRole('list', { name: 'Deleted pipelines' }).getByRole('listitem').filter({ hasText: name })
  await deleted.getByRole('button', { name: 'Restore' }).click()
  await expect.poll(async () => (await call('GET', `/v5/pipelines/${id}`)).status).toBe(200)
  expect(await stages(id)).toHaveLength(6)
})

browserTest('a stage is added and changed: its name, kind, probability and days', async () => {
  expectErrors(page, /status of 422/)
  await show()
  await page.getByText('No stages yet.').waitFor()
  await page.getByRole('button', { name: 'Add a stage' }).click()
  const form = dialog('Add a stage')
  await form.getByRole('textbox', { name: 'Name' }).fill('Asked')
  await form.getByRole('textbox', { name: 'Probability in percent' }).fill('101')
  await page.keyboard.press('Enter')
  await form.locator('[aria-invalid=true]').waitFor()
  await form.getByRole('textbox', { name: 'Probability in percent' }).fill('30')
  await form.getByRole('textbox', { name: 'Days without activity' }).fill('7')
  await page.keyboard.press('Enter')
  await page.getByText('30 % likely · Marked after 7 days without activity').waitFor()
  expect(await stages()).toMatchObject([{ name: 'Asked', kind: 'open', probability: 30, rottingDays: 7 }])
  await choose('Asked', 'Edit')
  const edit = dialog('Change Asked')
  await edit.getByRole('textbox', { name: 'Name' }).fill('Signed')
  await edit.getByRole('combobox', { name: 'Kind' }).selectOption('won')
  await edit.getByText('The deals in this stage get this status.').waitFor()
  await edit.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Actions for Signed' }).waitFor()
  expect(await stages()).toMatchObject([{ name: 'Signed', kind: 'won', probability: 100, rottingDays: null }])
})

browserTest('stages are ordered by dragging and with the keyboard', async () => {
  for (const name of ['a', 'b', 'c']) await addStage(name)
  await show()
  const handle = (name: string) => page.getByRole('button', { name: `Move ${name}`, exact: true })
  const shown = page.getByRole('list', { name: 'Stages' }).getByRole('listitem')
  const expectShown = (...names: string[]) =>
    expect.poll(async () => (await shown.allInnerTexts()).map((text) => text.trim().slice(0, 1))).toEqual(names)
  await handle('c').focus()
  await page.keyboard.press('ArrowUp')
  await expectStages('a', 'c', 'b')
  await expect.poll(() => page.locator('[aria-live=assertive]').first().textContent()).toBe('c is at position 2 of 3.')
  await expectShown('a', 'c', 'b')
  await inFocus(handle('c'))
  await page.keyboard.press('ArrowUp')
  await expectStages('c', 'a', 'b')
  await expectShown('c', 'a', 'b')
  const [from, to] = [await handle('c').boundingBox(), await handle('b').boundingBox()]
  if (!from || !to) throw new Error('The handles are not visible.')
  await page.mouse.move(from.x + 8, from.y + 8)
  await page.mouse.down()
  await page.mouse.move(to.x + 8, to.y + 12, { steps: 5 })
  await page.mouse.up()
  await expectStages('a', 'b', 'c')
  await expectShown('a', 'b', 'c')
})

browserTest('a new order stays on the screen when the answer to an earlier read arrives', async () => {
  for (const name of ['a', 'b', 'c']) await addStage(name)
  await show()
  const handle = page.getByRole('button', { name: 'Move c', exact: true })
  const shown = async () =>
    (await page.getByRole('list', { name: 'Stages' }).getByRole('listitem').allInnerTexts()).map(
      (text) => text.trim()[0],
    )
  await handle.focus()
  const [read, answerRead] = gate()
  const [move, sendMove] = gate()
  let isHeld = false
  onTestFinished(async () => {
    answerRead()
    sendMove()
    await page.unrouteAll({ behavior: 'wait' })
  })
  // The first read after the first move, and then what the second move sends.
  await page.route(/\/stages[?/]/, async (route) => {
    const isList = route.request().url().includes('/stages?')
    if (isHeld === isList) return route.continue()
    isHeld = true
    const response = isList ? await route.fetch() : undefined
    await (isList ? read : move)
    return response ? route.fulfill({ response }) : route.continue()
  })
  await page.keyboard.press('ArrowUp')
  await expect.poll(() => isHeld).toBe(true)
  await inFocus(handle)
  await page.keyboard.press('ArrowUp')
  await expect.poll(shown).toEqual(['c', 'a', 'b'])
  const answer = page.waitForResponse(/\/stages\?/)
  answerRead()
  await (await answer).finished()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  expect(await shown()).toEqual(['c', 'a', 'b'])
  sendMove()
  await expectStages('c', 'a', 'b')
})

browserTest('deleting a stage with deals asks where they go, and an empty one can be restored', async () => {
  expectErrors(page, /status of 423/)
  const [first, second] = [await addStage('First'), await addStage('Second')]
  const { body: deal } = await call('POST', '/v5/deals', { body: { name: 'Moving', stageId: first.id } })
  await show()
  await choose('First', 'Delete')
  await dialog('Delete the stage First?').getByRole('button', { name: 'Cancel' }).click()
  await expectStages('First', 'Second')
  await choose('First', 'Delete')
  await dialog('Delete the stage First?').getByRole('button', { name: 'Delete' }).click()
  const question = dialog('Where do the deals of First go?')
  await question.getByRole('combobox', { name: 'Stage' }).selectOption({ label: 'Second' })
  await question.getByRole('button', { name: 'Move the deals and delete' }).click()
  await toast('The stage First was deleted').waitFor()
  await expectStages('Second')
  expect((await call('GET', `/v5/deals/${deal.id}`)).body).toMatchObject({ stageId: second.id })
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await expect.poll(async () => (await stages()).map(({ name }) => name).sort()).toEqual(['First', 'Second'])
})

browserTest('a pipeline with deals is not deleted, and the page says why', async () => {
  expectErrors(page, /status of 423/)
  const stage = await addStage('Only')
  await call('POST', '/v5/deals', { body: { name: 'Here', stageId: stage.id } })
  await show()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog(/^Delete the pipeline/)
    .getByRole('button', { name: 'Delete' })
    .click()
  await toast(/Deals are still in this pipeline: 1/).waitFor()
  expect((await call('GET', `/v5/pipelines/${pipeline.id}`)).status).toBe(200)
})

browserTest('members and viewers do not see the settings of pipelines', async () => {
  for (const role of ['member', 'viewer'] as const) {
    const theirs = await openPage({ as: role, path: '/settings/pipelines' })
    await theirs.getByText('You cannot see this').waitFor()
    expect(await theirs.getByRole('link', { name: 'Pipelines' }).count()).toBe(0)
  }
})
