// `npm run fuzz`: sends hostile requests to the service. See docs/fuzzing.md.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('fuzz')
