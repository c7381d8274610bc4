import { isShort } from './suite.ts'

/**
 * The seed of property tests: the same in each run, so that only a change of the code can cause a failure.
 * `TEST_SEED=random` tries other cases, `TEST_SEED=<number>` repeats a reported failure.
 */
export const seed =
  process.env.TEST_SEED === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(process.env.TEST_SEED ?? 20_261_121)

/** Multiplies the runs of property tests: the default suits a change, `LAW_TIMES=8` is the full size. */
export const lawTimes = Number(process.env.LAW_TIMES ?? 1)

/** How many cases a property test generates where each of them sends requests: in `npm test` a quarter. */
export const runsOf = (count: number): number => Math.ceil(count * lawTimes * (isShort ? 0.25 : 1))
