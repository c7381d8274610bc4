// Preloaded into a service by lab/faults/clock.ts. Each SIGUSR2 sets its clock to the next of these offsets, in
// milliseconds. Only the time of day changes; monotonic clocks stay the same.
const shifts = (process.env.FAULTS_CLOCK_SHIFTS ?? '').split(',').map(Number)
const RealDate = Date
let shift = 0

process.on('SIGUSR2', () => {
  shift = shifts.shift() ?? 0
})

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shift)
    else super(...given)
  }

  static now() {
    return RealDate.now() + shift
  }
}
