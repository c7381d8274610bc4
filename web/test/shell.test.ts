import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'

const { openPage, callAs } = useApplication()

browserTest('the list shows the number of contacts', async () => {
  const page = await openPage({ path: '/contacts' })
  await page.getByText('100,000 records').waitFor()
  const call = await callAs('viewer')
  expect((await call('GET', '/v5/contacts/count')).body.count).toBe(100_000)
})
