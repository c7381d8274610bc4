import { serveRules } from './assistant/analysis/serve-rules.ts'

// A thread of a service, which reads notes for it: see RulesThread.
serveRules()
