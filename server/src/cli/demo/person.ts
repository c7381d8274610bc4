import type { Employer } from './companies.ts'
import type { Town } from './places.ts'

export interface Title {
  title: string
  seniority: string
}

/** A person, from which the related records are generated. */
export interface Person {
  id: string
  place: Town
  employer: Employer | undefined
  title: Title | undefined
  createdAt: number
  /** Time of the last activity, if any. */
  activeAt: number | undefined
}
