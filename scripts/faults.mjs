// `npm run faults`: injects faults and checks the data. See docs/reliability.md.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('faults')
