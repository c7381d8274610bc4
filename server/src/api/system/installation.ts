/** A result of the checks of `rapport doctor`. */
export interface SystemFinding {
  level: 'ok' | 'warning' | 'error'
  name: string
  message: string
  /** What to do about it. */
  advice: string | null
}

/** Facts about this installation that do not change while it runs. */
export interface InstallationFacts {
  /** Version in package.json. */
  version: string
  startedAt: Date
  databaseKind: 'embedded' | 'external'
  hasMailServer: boolean
  /** The model that analyses notes; undefined for the built-in rules. */
  reasoningModel: string | undefined
}

export interface Installation extends InstallationFacts {
  /** The findings of a recent examination; undefined if the first one is still running. */
  findings(): Promise<SystemFinding[] | undefined>
}

/** Milliseconds for which findings are used again, and for which a request waits for new ones. */
const limits = { reuse: 10_000, wait: 1500 }

/** `examine` runs at most once at a time, because it opens connections of its own. */
export function createInstallation(
  facts: InstallationFacts,
  examine: () => Promise<SystemFinding[]>,
  { reuse, wait } = limits,
): Installation {
  let latest: { findings: SystemFinding[]; at: number } | undefined
  let running: Promise<SystemFinding[]> | undefined
  const run = async () => {
    try {
      const findings = await examine()
      latest = { findings, at: performance.now() }
      return findings
    } finally {
      running = undefined
    }
  }
  return {
    ...facts,
    async findings() {
      if (latest && performance.now() - latest.at < reuse) return latest.findings
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<SystemFinding[] | undefined>((resolve) => {
        timer = setTimeout(() => resolve(latest?.findings), wait)
      })
      return Promise.race([(running ??= run()), late]).finally(() => clearTimeout(timer))
    },
  }
}
