/**
 * The seed of tests that draw many requests: the same in each run, so that a failure is the change's own. `TEST_SEED=random`
 * looks further, `TEST_SEED=<number>` looks again where a failure was told.
 */
export const seed =
  process.env.TEST_SEED === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(process.env.TEST_SEED ?? 20_261_121)

/** How often a law is tried, times what is enough for a change: `LAW_TIMES=8` for the full size. */
export const lawTimes = Number(process.env.LAW_TIMES ?? 1)
