/** Vite reads the programs of a guide by their file names (vite.config.ts). */
declare module '*/docs/guides/webhooks.md' {
  export const programs: Readonly<Record<string, string>>
}
