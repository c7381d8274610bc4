import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Subjects are imperative, such as `contacts: keep the older id on merge`. The check starts with the commits that follow
// the one that added this file, because older subjects cannot change.

const maxCommits = 50
const maxLength = 72

/** Words that end like a gerund, a past tense or a third person, but can begin a command. */
const commands: ReadonlySet<string> = new Set(
  [
    'bring',
    'ping',
    'string',
    'swing',
    'embed',
    'exceed',
    'feed',
    'need',
    'proceed',
    'seed',
    'shed',
    'speed',
    'wed',
  ].concat(['alias', 'bias', 'canvas', 'focus']),
)

const irregularPast =
  /^(?:began|bound|broke|brought|built|came|caught|chose|did|drew|fell|found|gave|got|held|kept|left|lost|made|meant|ran|rewrote|said|sent|showed|sped|spent|stood|swept|thought|threw|told|took|went|were|was|wrote)$/

/** Words that begin a description of a state instead of a command. */
const notVerbs =
  /^(?:a|an|the|this|that|these|those|it|its|they|we|i|all|each|every|any|some|no|not|one|two|what|which|who|when|where|why|how|if|in|on|of|for|from|with|without|after|before|more|most|fewer|less|only|also|now)$/

function problemsOf(subject: string): string[] {
  if (subject.startsWith('Revert "')) return []
  const text = subject.replace(/^[\w/.,` -]{1,40}: /, '')
  const word = (/^[\p{L}'’-]*/u.exec(text)?.[0] ?? '').toLowerCase()
  return [
    subject.length > maxLength && `has more than ${maxLength} characters`,
    subject.endsWith('.') && 'ends with a period',
    !isCommand(word) && `does not begin with a verb in the imperative: "${word}"`,
  ].filter((problem) => problem !== false)
}

const isCommand = (word: string): boolean =>
  word !== '' &&
  (commands.has(word) || !/(?:ing|ed|[^s]s)$/.test(word)) &&
  !irregularPast.test(word) &&
  !notVerbs.test(word)

const root = fileURLToPath(new URL('../..', import.meta.url))

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The subjects to check; none outside of a clone, without git, or if a shallow clone begins later. */
function recentSubjects(): string[] {
  try {
    if (realpathSync(git('rev-parse', '--show-toplevel')) !== realpathSync(root)) return []
    const added = git('log', '--diff-filter=A', '--format=%H', '--', 'server/test/commit-subjects.test.ts')
    const base = added.split('\n').at(-1)
    if (!base) return []
    const range = ['--ancestry-path', `${base}..HEAD`]
    return git('log', '--no-merges', `-${maxCommits}`, '--format=%s', ...range)
      .split('\n')
      .filter(Boolean)
  } catch {
    return []
  }
}

test('subjects of new commits are short commands', () => {
  expect(
    recentSubjects().flatMap((subject) => problemsOf(subject).map((problem) => `"${subject}" ${problem}`)),
  ).toEqual([])
})

test.each([
  'contacts: keep the older id on merge',
  'Fix the order of rows',
  'web: focus the first field',
  'docs/guides: process mails in order',
  'Revert "tests: a page is drawn in its new width or medium before it is measured, and waits"',
])('%s is a valid subject', (subject) => {
  expect(problemsOf(subject)).toEqual([])
})

test.each([
  ['contacts: merge keeps the older id and drops the newer one, and everything else', /more than 72/],
  ['contacts: keep the older id.', /period/],
  ['web: added a filter', /"added"/],
  ['Adding a filter', /"adding"/],
  ['web: adds a filter', /"adds"/],
  ['tests: wrote a law', /"wrote"/],
  ['tests: a page is drawn before it is measured', /"a"/],
  ['docs: 3 guides', /""/],
])('%s is an invalid subject', (subject, problem) => {
  expect(problemsOf(subject).join()).toMatch(problem)
})
