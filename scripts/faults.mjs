// `npm run faults`: breaks what the service stands on and looks at the data; docs/reliability.md says why.
import './node-version.mjs'
import { runFolder } from './tool.mjs'

await runFolder('faults')
