import { eastern } from './locales-east.ts'
import { western } from './locales-west.ts'
import { worldly } from './locales-world.ts'
import { type Locale, readLocale } from './locale.ts'
import { at, type Random } from './random.ts'

/** Every language of a demo, each as often in the lot as it has people. */
export class World {
  readonly locales: readonly Locale[]
  readonly #lot: Uint8Array

  constructor() {
    this.locales = [...western, ...eastern, ...worldly].map(readLocale)
    this.#lot = Uint8Array.from(this.locales.flatMap(({ weight }, index) => Array<number>(weight).fill(index)))
  }

  /** The place of a language in `locales`. */
  draw(random: Random): number {
    return this.#lot[random.below(this.#lot.length)] ?? 0
  }

  locale(index: number): Locale {
    return at(this.locales, index)
  }
}

/** Greater than the number of pairs of any language, and prime: its multiples meet each pair before one twice. */
export const stride = 104_729
