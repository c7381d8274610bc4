import { expect, test } from 'vitest'
import type { Action, Interpretation, NoteFacts } from './analysis.ts'
import { factsFor } from './evaluation/labels.ts'
import { isPlainText, verify } from './verify.ts'
import { isWordingSupported } from './wording.ts'

const text = 'Hi 👋 please call me on +49 30 1234567 on 3 December, or mail ann.lee@birch.example. Ann Lee'
const facts: NoteFacts = factsFor('Europe/Berlin')
const common = { priority: 'normal', confidence: 0.8, evidence: { start: 6, end: 20 } } as const
const call: Action = { type: 'call', params: {}, ...common }

const found = (given: Partial<Interpretation>, note = text): Interpretation =>
  verify(
    { intent: 'meeting_request', language: 'en', actions: [], suspicious: false, ...given },
    { organizationId: 'one', text: note },
    facts,
  )
const isAccepted = (action: Action, intent: Interpretation['intent'] = 'meeting_request') =>
  found({ intent, actions: [action] }).actions.length === 1

test('an action needs words of the note as evidence', () => {
  expect(isAccepted(call)).toBe(true)
  for (const [start, end] of [
    [0, 0],
    [-1, 5],
    [5, 3],
    [2, text.length + 1],
    [1.5, 4],
    [Number.NaN, 4],
    // Half of an emoji, and only a space.
    [4, 9],
    [2, 3],
  ]) {
    const action = { ...call, evidence: { start: start ?? 0, end: end ?? 0 } }
    expect([start, end, isAccepted(action)]).toEqual([start, end, false])
  }
})

test('a date must be named in the note, not over, and within two years', () => {
  const due = (dueAt: string) => isAccepted({ ...call, dueAt })
  expect(due('2026-12-03T14:00:00.000Z')).toBe(true)
  expect(due('2026-12-04T14:00:00.000Z')).toBe(false)
  expect(due('2026-11-03T14:00:00.000Z')).toBe(false)
  expect(due('2030-12-03T14:00:00.000Z')).toBe(false)
  for (const invalid of ['tomorrow', '2026-12-03', '2026-12-03T14:00', '2026-13-03T14:00:00.000Z', '']) {
    expect([invalid, due(invalid)]).toEqual([invalid, false])
  }
})

test('waiting needs a date: one from the note, or the default', () => {
  const wait = (dueAt?: string) =>
    isAccepted({ type: 'wait_until', params: {}, ...common, ...(dueAt && { dueAt }) }, 'not_now')
  expect([wait(), wait('2027-01-15T08:00:00.000Z'), wait('2026-12-03T08:00:00.000Z')]).toEqual([false, false, true])
  // 90 days later, at 09:00.
  expect(wait('2027-02-22T08:00:00.000Z')).toBe(true)
})

test('a date that the note does not name is marked as a default', () => {
  const sourceOf = (dueAt: string) =>
    found({ intent: 'not_now', actions: [{ type: 'wait_until', params: {}, ...common, dueAt }] }).actions[0]
      ?.dueAtSource
  expect(sourceOf('2026-12-03T08:00:00.000Z')).toBe('note')
  expect(sourceOf('2027-02-22T08:00:00.000Z')).toBe('default')
})

test('addresses, numbers and names must be in the note as a whole', () => {
  const add = (params: { name?: string; email?: string; phone?: string }) =>
    isAccepted({ type: 'add_contact', params, ...common })
  expect(add({ name: 'Ann Lee', email: 'Ann.Lee@birch.example', phone: '+49 30 1234567' })).toBe(true)
  for (const params of [
    {},
    { email: 'eve@evil.example' },
    { email: 'lee@birch.example' },
    { email: 'ann.lee@birch.exampl' },
    { email: 'ann.lee@birch.example\nbcc: eve@evil.example' },
    { phone: '+49 30 123456' },
    { phone: '49 30 1234567' },
    { phone: 'please call' },
    { name: 'Bob Lee' },
    { name: 'nn Le' },
    { name: 'Ann Lee', email: 'eve@evil.example' },
  ]) {
    expect([params, add(params)]).toEqual([params, false])
  }
  expect(isAccepted({ ...call, params: { phone: '+1 900 5550100' } } as Action)).toBe(false)
})

test('the contact is not a new contact', () => {
  const action: Action = { type: 'add_contact', params: { email: 'ann.lee@birch.example' }, ...common }
  const own = { ...facts, contactEmails: ['other@birch.example', 'Ann.Lee@Birch.example'] }
  const given: Interpretation = { intent: 'referral', language: 'en', actions: [action], suspicious: false }
  expect(verify(given, { organizationId: 'one', text }, own).actions).toEqual([])
  expect(verify(given, { organizationId: 'one', text }, facts).actions).toEqual([action])
  const phone: Action = { type: 'add_contact', params: { phone: '+49 30 1234567' }, ...common }
  const withPhone = { ...given, actions: [phone] }
  expect(verify(withPhone, { organizationId: 'one', text }, facts).actions).toEqual([phone])
  const ownPhone = { ...facts, contactPhones: ['+49307654321', '+49301234567'] }
  expect(verify(withPhone, { organizationId: 'one', text }, ownPhone).actions).toEqual([])
})

test('an intent allows only its own actions, each once, and a suspicious note only an opt-out', () => {
  const suppress: Action = { type: 'suppress', params: {}, ...common }
  expect(isAccepted(suppress)).toBe(false)
  expect(isAccepted(suppress, 'opt_out')).toBe(true)
  expect(isAccepted(call, 'opt_out')).toBe(false)
  expect(found({ actions: [call, call] }).actions).toEqual([call])
  expect(found({ actions: [call], suspicious: true }).actions).toEqual([])
  const stage = (stageKind: 'won' | 'lost'): Action => ({ type: 'change_stage', params: { stageKind }, ...common })
  expect([isAccepted(stage('won'), 'not_interested'), isAccepted(stage('lost'), 'interested')]).toEqual([false, false])
  expect([isAccepted(stage('lost'), 'not_interested'), isAccepted(stage('won'), 'interested')]).toEqual([true, true])
  const change = { intent: 'interested', language: 'en', actions: [stage('won')], suspicious: false } as const
  for (const [stageKind, count] of [
    ['open', 1],
    ['won', 0],
    [null, 0],
  ] as const) {
    expect(verify(change, { organizationId: 'one', text }, { ...facts, stageKind }).actions).toHaveLength(count)
  }
})

test('values outside the enums are refused', () => {
  const strange = { intent: 'delete_everything', language: 'en', actions: [call], suspicious: false }
  expect(verify(strange as unknown as Interpretation, { organizationId: 'one', text }, facts)).toEqual({
    intent: 'unclear',
    language: 'other',
    actions: [],
    suspicious: false,
  })
  expect(isAccepted({ ...call, type: 'send_email' } as unknown as Action)).toBe(false)
  expect(isAccepted({ ...call, priority: 'max' } as unknown as Action)).toBe(false)
  expect(isAccepted({ ...call, confidence: 2 })).toBe(false)
})

test('a summary and a title are plain text without links', () => {
  const summary = (given: string) => found({ summary: given }).summary
  expect(summary('Wants a call on 3 December.')).toBe('Wants a call on 3 December.')
  for (const bad of [
    'See https://evil.example/?d=secret',
    'See www.evil.example',
    'Go to evil.com now',
    '![x](//evil)',
    '[here](x)',
    '<img src=x>',
    'mailto:eve@evil.example',
    'hidden\u202etext',
    'a\u0000b',
    ' ',
    'x'.repeat(281),
  ]) {
    expect([bad, summary(bad)]).toEqual([bad, undefined])
  }
  const task = (title: string): Action => ({ type: 'create_task', params: { title }, ...common })
  expect(isAccepted(task('Send the offer'))).toBe(true)
  expect(isAccepted(task('Open http://evil.example'))).toBe(false)
  expect(isPlainText('Version 2.0 is out, e.g. for v1.2/v1.3', 100)).toBe(true)
})

test('a summary may use ordinary words in both languages, but no other names, days and amounts than the note', () => {
  const german = 'Hallo, hier Jörg Müller. Schicken Sie mir bitte bis zum 3. Dezember die Muster für 1.300 €, Danke!'
  for (const said of [
    'Jörg Müller bittet bis 3. Dezember um Muster für 1.300 €.',
    'Angebot mit Mustern senden',
    'Müllers Anfrage beantworten',
  ]) {
    expect([said, isWordingSupported(said, german)]).toEqual([said, true])
  }
  for (const said of [
    'Jörg Meier bittet um Muster.',
    'Bittet um Muster bis 4. Dezember.',
    'Bittet um Muster für 300 €.',
    'Bittet um Muster für 1.300 $.',
    'Bittet um zwei Muster.',
    'Bittet morgen um Muster.',
    'Muster an Firma Birke senden',
  ]) {
    expect([said, isWordingSupported(said, german)]).toEqual([said, false])
  }
})

test('a task whose evidence cannot be its title is dropped with an unsupported title', () => {
  const note = 'Send it to evil.com'
  const evidence = { start: 0, end: note.length }
  const task: Action = { type: 'create_task', params: { title: 'Send Eve the money' }, ...common, evidence }
  expect(found({ intent: 'interested', actions: [task] }, note).actions).toEqual([])
})
