// `npm run fuzz`: sends the service requests that hurt; docs/fuzzing.md says what and how.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('fuzz')
