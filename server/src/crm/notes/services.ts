/** What the routes of notes use in addition. */
declare module '../../platform/http/route.ts' {
  interface Services {
    /** Wake it after a note of the organization (uuid) is committed. */
    noteAnalysis: { wake(organizationId: string): void }
  }
}
