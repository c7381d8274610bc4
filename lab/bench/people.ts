/** A linear congruential generator (Numerical Recipes), so that each run generates the same people. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }

  pick(values: readonly string[]): string {
    return values[this.below(values.length)] ?? ''
  }

  /** Up to three different values. */
  pickSome(values: readonly string[]): string[] {
    return [...new Set(Array.from({ length: this.below(4) }, () => this.pick(values)))]
  }
}

export const firstNames =
  'Ada Alan Amina Anna Ben Bruno Carla Chen Dario Diana Elena Emil Farid Fiona Georg Grace Hana Hugo Ida Ivan Jana João Kaori Karl Lena Leo Lucía Mara Max Nadia Nils Olga Omar Paula Peter Rosa Ruth Samir Sofia Søren Tara Theo Uma Vera Wanda Yuki Zoë'.split(
    ' ',
  )
export const lastNames =
  'Adams Almeida Andersen Bauer Becker Brown Castillo Chen Costa Dubois Eriksen Ferrari Fischer García Haddad Hansen Hoffmann Ivanova Jansen Kaplan Khan Kim Kowalski Larsen Lovelace Martin Meyer Müller Nakamura Novak Okafor Olsen Park Pereira Petrov Rossi Sato Schmidt Silva Singh Suzuki Tanaka Turing Weber Wilson Yilmaz Zhang'.split(
    ' ',
  )
export const cities =
  'Berlin Bremen Hamburg Lyon Paris Oslo Porto Madrid Milan Boston Denver Kyoto Osaka Recife Vienna'.split(' ')
export const industries =
  'Bikes Books Coffee Energy Films Games Glass Maps Music Paper Robots Shoes Solar Steel Tea Tools'.split(' ')
export const jobLevels = ['Head', 'Director', 'Manager', 'VP', 'Owner']
export const tags = 'customer lead newsletter partner press speaker supplier trial vip webinar'.split(' ')

const syllables =
  'bal bor cal dan del dor fal fen gar gol hal jor kar kel lam lor mal mor nal nor pal por ral rin sal sor tal tor val vor'.split(
    ' ',
  )
const endings = 'berg dale ford gate holm land mann quist son stad ton wick'.split(' ')

/** One of 10,800 rare names. */
export const rareName = (random: Random): string => capitalize(`${syllablePair(random)}${random.pick(endings)}`)

/** A fragment that no name contains, although names contain each of its trigrams: it has one syllable too many. */
export const absentFragment = (random: Random): string =>
  `${syllablePair(random)}${random.pick(syllables)}${random.pick(endings)}`

const syllablePair = (random: Random): string => `${random.pick(syllables)}${random.pick(syllables)}`
const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** A name as used in addresses and handles. */
export const toAscii = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase()
