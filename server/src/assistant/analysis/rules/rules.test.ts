import { expect, test } from 'vitest'
import type { Action, ActionType, Intent, NoteFacts } from '../analysis.ts'
import { wallTimeOf } from '../local-time.ts'
import { factsFor } from '../evaluation/labels.ts'
import { interpret } from './rules.ts'

const inBerlin = factsFor('Europe/Berlin')
const read = (text: string, facts: NoteFacts = inBerlin) => interpret(text, facts).interpretation
const typesOf = (text: string): ActionType[] => read(text).actions.map(({ type }) => type)
const evidenceOf = (text: string): string[] =>
  read(text).actions.map(({ evidence }) => text.slice(evidence.start, evidence.end))

/** The local time at which the first action is due. */
function dueIn(zone: string, text: string, now = inBerlin.now): string | undefined {
  const dueAt = read(text, { ...factsFor(zone), now }).actions[0]?.dueAt
  return dueAt && new Date(wallTimeOf(new Date(dueAt), zone)).toISOString().slice(0, 16)
}

function firstAction<Type extends ActionType>(text: string, type: Type): Extract<Action, { type: Type }> | undefined {
  return read(text).actions.find((action): action is Extract<Action, { type: Type }> => action.type === type)
}

const examples: readonly [string, Intent, ActionType[]][] = [
  ['Please send me your price list.', 'interested', ['reply']],
  ['The board approved it, we want to order. Send the contract.', 'interested', ['reply', 'change_stage']],
  ['Not now, try again in spring.', 'not_now', ['wait_until']],
  ['We are not interested.', 'not_interested', ['change_stage', 'stop_campaign']],
  ['Can we meet on Thursday?', 'meeting_request', ['schedule_meeting']],
  ['Please call me tomorrow.', 'meeting_request', ['call']],
  ['Is there a discount for schools?', 'question', ['reply']],
  ['I am out of the office until Friday.', 'out_of_office', ['wait_until']],
  ['You have the wrong person.', 'wrong_person', ['stop_campaign']],
  ['Please contact my colleague Ann Lee, ann@lee.example.', 'referral', ['add_contact']],
  ['Take me off your list.', 'opt_out', ['suppress']],
  ['TODO: prepare the offer by Monday', 'unclear', ['create_task']],
  ['Bitte senden Sie mir Ihre Preisliste.', 'interested', ['reply']],
  ['Momentan leider kein Bedarf, gerne nächstes Jahr wieder.', 'not_now', ['wait_until']],
  ['Wir haben kein Interesse.', 'not_interested', ['change_stage', 'stop_campaign']],
  ['Können wir uns am Donnerstag treffen?', 'meeting_request', ['schedule_meeting']],
  ['Ich bin bis Freitag im Urlaub.', 'out_of_office', ['wait_until']],
  ['Ich bin dafür nicht zuständig.', 'wrong_person', ['stop_campaign']],
  ['Bitte nehmen Sie mich aus dem Verteiler.', 'opt_out', ['suppress']],
  ['', 'unclear', []],
  ['こんにちは', 'unclear', []],
]

test.each(examples)('%j is %s with %j', (text, intent, actions) => {
  expect([read(text).intent, typesOf(text)]).toEqual([intent, actions])
})

test('a negation in front of a phrase reverses it, but not across a clause and not twice', () => {
  expect(read('We are interested.').intent).toBe('interested')
  expect(read('We are not interested.').intent).toBe('not_interested')
  expect(read('We never said that we are not interested.').intent).not.toBe('opt_out')
  expect(read('Please do not unsubscribe me.').intent).toBe('unclear')
  expect(read('Bitte nicht aus dem Verteiler nehmen.').intent).toBe('unclear')
  expect(read('We are not happy with our vendor and are interested in yours.').intent).toBe('interested')
  expect(read('Not only are we interested, we are impressed.').intent).toBe('interested')
  expect(read('There is no need to call me back.').actions).toEqual([])
})

test('an opt-out wins over everything else in the note', () => {
  expect(read('Great product, can we meet tomorrow? But please remove me from your mailing list.').intent).toBe(
    'opt_out',
  )
  expect(read('Ich bin im Urlaub. Keine weiteren E-Mails bitte.').intent).toBe('opt_out')
  expect(interpret('Stop emailing me.', inBerlin).isHardOptOut).toBe(true)
  expect(interpret('Can we meet?', inBerlin).isHardOptOut).toBe(false)
})

test('words about unsubscribing that are not a request do not suppress anybody', () => {
  for (const text of [
    'How do your customers unsubscribe from newsletters with your tool?',
    'He asked whether recipients can unsubscribe with one click.',
    'Please stop by on Thursday.',
    'Remove the old quote from the folder.',
    'We have to stop the project.',
    'How do we delete our data when the contract ends?',
    'Can we remove our account data ourselves?',
    'Please delete my previous comment, it was wrong.',
    'Our customers say your emails are spam, can you fix the sending domain?',
    'I never signed up for the premium plan, please correct the invoice.',
    'They asked us to remove the logo from their website.',
    'Please stop sending the invoice to my colleague, send it to me.',
    'Leave me a message if I am not there.',
    'The customer wants to be removed from the VIP group.',
    'We want to opt out of the auto-renewal but continue monthly.',
    'Please do not call me before 9, mail is fine.',
    'Wie können wir unsere Daten löschen, wenn der Vertrag endet?',
    'Bitte löschen Sie meine letzte Nachricht.',
    'Bitte streichen Sie die Position 3 aus dem Angebot.',
    'Rufen Sie mich bitte nicht vor 9 Uhr an.',
    'Ihr Newsletter ist super, ich will ihn auf keinen Fall abbestellen.',
    'Können Abonnenten den Newsletter selbst abbestellen?',
    'Nehmen Sie mich bitte in den Verteiler auf.',
    'Ich habe nie zugestimmt, dass der Preis steigt.',
  ]) {
    expect([text, read(text).intent]).not.toEqual([text, 'opt_out'])
  }
})

test('quoted mails and signatures do not speak for the author', () => {
  const quoted =
    'Which formats do you support?\n\nOn Mon, 23 Nov 2026, Tom wrote:\n> Can we meet?\n> Unsubscribe me here'
  expect([read(quoted).intent, typesOf(quoted)]).toEqual(['question', ['reply']])
  expect(read('Thanks!\n-- \nAnn Lee\nCall me on +49 30 1234567').intent).toBe('unclear')
})

test('evidence is at the right offset after emoji, umlauts and other scripts', () => {
  expect(evidenceOf('👋🏽 Grüße! 日本 🎉 Please call me tomorrow. 👍')).toEqual(['Please call me'])
  expect(evidenceOf('İstanbul ﬁle ß — we are  NOT\tinterested.')[0]).toMatch(/^NOT\tinterested$/)
})

test('dates are in the zone of the contact', () => {
  expect(dueIn('Europe/Berlin', 'Can we meet on Friday at 10 am?')).toBe('2026-11-27T10:00')
  const inTokyo = read('Can we meet tomorrow at 10 am?', factsFor('Asia/Tokyo')).actions[0]?.dueAt
  expect(inTokyo).toBe('2026-11-25T01:00:00.000Z')
  // In Auckland it is already Wednesday.
  const evening = new Date('2026-11-24T20:00:00Z')
  expect(dueIn('Pacific/Auckland', 'Please call me tomorrow.', evening)).toBe('2026-11-26T09:00')
  expect(dueIn('America/Los_Angeles', 'Please call me tomorrow.', evening)).toBe('2026-11-25T09:00')
})

test('dates on the other side of a clock change have the offset of their own day', () => {
  const due = (text: string) => read(text).actions[0]?.dueAt
  expect(due('Bitte melden Sie sich am 27.03.2027 wieder.')).toBe('2027-03-27T08:00:00.000Z')
  expect(due('Bitte melden Sie sich am 29.03.2027 wieder.')).toBe('2027-03-29T07:00:00.000Z')
  const beforeChange = new Date('2026-10-24T12:00:00Z')
  expect(dueIn('Europe/Berlin', 'Ruf mich bitte morgen um 10 Uhr an.', beforeChange)).toBe('2026-10-25T10:00')
})

test.each([
  ['Get back to me next week.', '2026-11-30T09:00'],
  ['Get back to me next month.', '2026-12-01T09:00'],
  ['Get back to me next quarter.', '2027-01-01T09:00'],
  ['Get back to me in Q3 2027.', '2027-07-01T09:00'],
  ['Get back to me in two weeks.', '2026-12-08T09:00'],
  ['Get back to me in March.', '2027-03-01T09:00'],
  ['Get back to me at the end of January.', '2027-01-25T09:00'],
  ['Melden Sie sich nächste Woche wieder.', '2026-11-30T09:00'],
  ['Melden Sie sich im März wieder.', '2027-03-01T09:00'],
  ['Melden Sie sich am 7.12. wieder.', '2026-12-07T09:00'],
  ['I am out of the office from 23 November to 4 December.', '2026-12-05T09:00'],
  ['I am on vacation through 4 December.', '2026-12-05T09:00'],
  ['Ich bin vom 23.11. bis 4.12. im Urlaub und ab dem 7.12. wieder im Büro.', '2026-12-07T09:00'],
])('%j is due at %s', (text, due) => {
  expect(dueIn('Europe/Berlin', text)).toBe(due)
})

test('12/01 is in December for an American and in January for a European', () => {
  expect(dueIn('America/New_York', 'OOO, back on 12/01')).toBe('2026-12-01T09:00')
  expect(dueIn('Europe/London', 'OOO, back on 12/01')).toBe('2027-01-12T09:00')
})

test('without a date, an absence ends after a week and a postponement after 90 days', () => {
  expect(dueIn('Europe/Berlin', 'I am on sick leave.')).toBe('2026-12-01T09:00')
  expect(dueIn('Europe/Berlin', 'Maybe later.')).toBe('2027-02-22T09:00')
})

test('a new contact has the name, address and number of the note, and is not the contact', () => {
  const referral = 'Please talk to our director Dr. Eva Marx instead: eva.marx@birch.example, +49 30 1234567.'
  expect(firstAction(referral, 'add_contact')?.params).toEqual({
    name: 'Eva Marx',
    email: 'eva.marx@birch.example',
    phone: '+49 30 1234567',
  })
  const own = read('Wrong person. Best, ann@lee.example', { ...inBerlin, contactEmails: ['Ann@lee.example'] })
  expect(own.actions.map(({ type }) => type)).toEqual(['stop_campaign'])
})

test('a call has the number of the note, and a task the words of its sentence', () => {
  expect(firstAction('Please call me on 030 1234567.', 'call')?.params).toEqual({ phone: '030 1234567' })
  expect(firstAction('Met at fair. TODO: send the offer to him by Friday', 'create_task')?.params).toEqual({
    title: 'TODO: send the offer to him by Friday',
  })
})
