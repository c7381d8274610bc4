import type { Operation } from './document.ts'
import type { Population } from './fixture.ts'
import type { Person, PersonState } from './person.ts'

/** The data from which requests are generated. */
export interface FuzzContext {
  operations: readonly Operation[]
  ours: Population
  theirs: Population
  /** The person whose session and password the requests use, end and change. */
  person: Person
  narrowKey: string
  expiredKey: string
  /** Learned from responses: ETags by path, and the person's state. */
  learned: { tags: Map<string, string>; personState: PersonState }
  seed: number
}
