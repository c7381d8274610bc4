// `npm run pictures`: takes the pictures of docs/application again, which web/test/pictures.test.ts compares with.
import './node-version.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
await exit(
  await runTool('vitest/vitest.mjs', ['run', 'web/test/pictures.test.ts'], { environment: { PICTURES: 'write' } }),
)
