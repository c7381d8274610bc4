// `npm run bench`: measures the service as a user starts it; docs/benchmarks.md says what and how.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('bench', ['load', 'floor', 'driver'])
