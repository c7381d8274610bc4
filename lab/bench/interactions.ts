import type { Page } from 'playwright-core'
import { chromium, launchChromium } from '../../server/test/chromium.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { password } from '../shared/service.ts'
import { quantile } from '../shared/quantile.ts'
import type { Testbed } from './stage.ts'

/**
 * The response time of the application's list of contacts: from an input until the browser has painted the result
 * (https://web.dev/articles/inp). The browser rounds it to 8 ms.
 */
export interface Interactions {
  name: string
  /** Interactions of 16 ms or more. */
  count: number
  /** Milliseconds. */
  p50: number
  p75: number
  max: number
}

export const floorName = 'keys on a bare page'
export const firstRowsName = 'first rows after the click'

/** Milliseconds; the browser reports no faster interactions. */
const shortest = 16

/** Measures the list of all contacts in Chromium; returns nothing if Chromium is not installed. */
export async function measureInteractions(stage: Testbed): Promise<Interactions[]> {
  if (!chromium) {
    stage.log('Interactions are not measured: Chromium is not installed, and CHROMIUM_PATH does not name it.')
    return []
  }
  stage.log('interactions with the application…')
  const browser = await launchChromium()
  const close = addCleanup(() => browser.close())
  // 20 in a full run.
  const times = Math.ceil(stage.options.seconds * 6.5)
  const page = await browser.newPage({ baseURL: `http://localhost:${stage.service.port}` })
  await page.addInitScript(observer)
  // A stream stays open: a page with one never counts as loaded.
  await page.route(/\/v5\/events\/stream\?/, (route) => route.fulfill({ status: 204 }))
  const measured: Interactions[] = [await measureFloor(page, times)]
  await logIn(page)
  measured.push(await measureFirstRows(page, Math.ceil(times / 4)))
  await page.goto('/contacts')
  await page.getByRole('gridcell').first().waitFor()
  await page.waitForLoadState('networkidle')
  for (const [name, perform] of Object.entries(scripts)) {
    await page.getByRole('grid').focus()
    await page.keyboard.press('Control+Home')
    measured.push(await measure(page, times, name, perform))
  }
  await close()
  return measured
}

/** The owner that `bootstrapBench` created. */
async function logIn(page: Page): Promise<void> {
  await page.goto('/login')
  await page.getByLabel('Email').fill('bench@example.com')
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main navigation' }).first().waitFor()
}

/** Keys of one kind each, as in a salesperson's day. */
const scripts: Record<string, (page: Page) => Promise<void>> = {
  'arrow keys': (page) => page.keyboard.press('ArrowDown'),
  'a page of rows down': (page) => page.keyboard.press('PageDown'),
  'to the first row and back': async (page) => {
    await page.keyboard.press('PageDown')
    await page.keyboard.press('Control+Home')
  },
  // The second cell of the next row: the company.
  'editing a cell': async (page) => {
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.keyboard.press('a')
    await page.keyboard.press('Escape')
  },
  'opening and closing the palette': async (page) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
  },
  'selecting a row': async (page) => {
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('x')
  },
  searching: async (page) => {
    const field = page.getByRole('searchbox').first()
    for (const letter of 'ada') await field.press(letter)
    for (const _ of 'ada') await field.press('Backspace')
  },
}

export const interactionNames = [firstRowsName, ...Object.keys(scripts)]

/** The browser's own time for a key that changes one text. */
async function measureFloor(page: Page, times: number): Promise<Interactions> {
  await page.goto('/healthz')
  await page.evaluate('addEventListener("keydown", ({ timeStamp }) => (document.body.textContent = timeStamp))')
  return measure(page, times, floorName, (one) => one.keyboard.press('ArrowDown'))
}

async function measure(
  page: Page,
  times: number,
  name: string,
  perform: (page: Page) => Promise<void>,
): Promise<Interactions> {
  await perform(page)
  await painted(page)
  await page.evaluate('interactions.clear()')
  for (let time = 0; time < times; time++) {
    await perform(page)
    await painted(page)
  }
  return figuresOf(name, await page.evaluate<number[]>('[...interactions.values()]'))
}

/** From the click until the rows are painted; each time starts on the start page. */
async function measureFirstRows(page: Page, times: number): Promise<Interactions> {
  const durations: number[] = []
  for (let time = 0; time < times; time++) {
    await page.goto('/')
    await page.waitForLoadState('networkidle')
    await page.evaluate(firstRows)
    await page.getByRole('navigation').getByRole('link', { name: 'Contacts' }).click()
    durations.push(await page.evaluate<number>('firstRows'))
  }
  return figuresOf(firstRowsName, durations)
}

function figuresOf(name: string, durations: readonly number[]): Interactions {
  const [p50 = shortest, p75 = shortest, max = shortest] = [0.5, 0.75, 1].map((share) => quantile(durations, share))
  return { name, count: durations.length, p50, p75, max }
}

const painted = (page: Page): Promise<void> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(() => setTimeout(done, 30))))')

/**
 * The longest event of each interaction by id. Interactions that are too fast to be reported are missing, so the
 * figures are rather too high.
 */
const observer = `
  globalThis.interactions = new Map()
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId) interactions.set(interactionId, Math.max(duration, interactions.get(interactionId) ?? 0))
  }).observe({ type: 'event', durationThreshold: ${shortest} })`

const firstRows = `
  globalThis.firstRows = new Promise((done) => {
    addEventListener('click', ({ timeStamp }) => {
      const look = () => {
        const found = document.querySelector('[role=gridcell] a')
        requestAnimationFrame(found ? () => setTimeout(() => done(performance.now() - timeStamp)) : look)
      }
      look()
    }, { capture: true, once: true })
  })
  undefined`
