import fc from 'fast-check'
import { seed } from './seed.ts'

// Otherwise each run would try other cases, and fail by chance where a property has an exception that nobody has met.
fc.configureGlobal({ seed })
