import type { Program } from '../shared/usage.ts'

/** A program with an HTTP server. */
export interface HttpTarget {
  name: 'service' | 'floor'
  port: number
  program: Program
}
