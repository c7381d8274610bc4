import { englishOptOut } from './english-opt-out.ts'
import { englishPeople } from './english-people.ts'
import { englishRefusals } from './english-refusals.ts'
import { englishWishes } from './english-wishes.ts'
import type { Locale } from './locale.ts'

export const english: Locale = {
  language: 'en',
  commonWords:
    `the and you your we our is are was have has had this that with for from please thanks thank not will would
    can could should i i'm i'll im he she they them of at it to be do does did call me my us about what how when where who
    which if there any all more no interested unsubscribe remove stop meeting back until next week`.split(/\s+/),
  negations: `not no never neither nor without don'?t doesn'?t didn'?t won'?t can'?t cannot couldn'?t isn'?t aren'?t
    wasn'?t haven'?t hasn'?t wouldn'?t shouldn'?t nobody`.split(/\s+/),
  falseNegations: ['not only', 'why not', 'no problem', 'no doubt', 'not sure', "don'?t hesitate", 'not happy with'],
  clauseBreaks: ['but', 'and', 'however', 'so', 'because', 'then', 'instead', 'although'],
  groups: [...englishOptOut, ...englishRefusals, ...englishPeople, ...englishWishes],
  nameLeads:
    `director cto ceo cfo coo cio head lead founder partner president marketing sales colleague boss manager successor replacement assistant contact with to mr mrs ms miss dr prof is person name
    ask adding cc email it procurement he she`.split(/\s+/),
}
