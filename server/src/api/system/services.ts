import type { Installation } from './installation.ts'

/** Adds the installation to the services that routes use. */
declare module '../../platform/http/route.ts' {
  interface Services {
    installation: Installation
  }
}
