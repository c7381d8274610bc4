// `npm run bench`: measures the service as a user runs it. See docs/benchmarks.md.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('bench', ['load', 'floor', 'driver'])
