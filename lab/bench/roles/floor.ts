import { runFloor } from '../floor.ts'

await runFloor()
