/** What the routes of notes use in addition. */
declare module '../../platform/http/route.ts' {
  interface Services {
    /** Wake it after a note is committed. */
    noteAnalysis: { wake(): void }
  }
}
