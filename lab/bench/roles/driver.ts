import { runDriver } from '../driver.ts'

await runDriver()
