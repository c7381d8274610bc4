// `npm run pictures`: retakes the pictures of docs/application, with which web/test/pictures.test.ts compares.
import './node-version.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
await exit(
  await runTool('vitest/vitest.mjs', ['run', 'web/test/pictures.test.ts'], { environment: { PICTURES: 'write' } }),
)
