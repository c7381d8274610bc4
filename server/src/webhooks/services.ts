declare module '../platform/http/route.ts' {
  interface Services {
    /** Sends events to webhooks. */
    webhooks: {
      /** Checks for work immediately. */
      wake(): void
    }
  }
}
