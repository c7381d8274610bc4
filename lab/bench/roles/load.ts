import { runLoad } from '../load.ts'

await runLoad()
