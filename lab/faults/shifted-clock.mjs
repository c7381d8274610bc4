// Preloaded into a service by lab/faults/clock.ts: each SIGUSR2 sets its clock to the next of these distances, in
// milliseconds. Only what tells the time of day is moved; time that passes is measured as ever.
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
