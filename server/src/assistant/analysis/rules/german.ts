import { germanOptOut } from './german-opt-out.ts'
import { germanPeople } from './german-people.ts'
import { germanRefusals } from './german-refusals.ts'
import { germanWishes } from './german-wishes.ts'
import type { Locale } from './locale.ts'

export const german: Locale = {
  language: 'de',
  commonWords:
    `der die das und ich wir sie ist sind nicht ein eine einen mit für von zu auf den dem bitte danke gerne gern
    uns mir mich ihre ihren ihr haben habe hat kann können wird werden bei noch auch wie wo wer was wann kein keine keinen
    im am um uhr morgen heute wieder aber nach seit bis zum zur interesse abmelden nein guten tag grüße termin anrufen
    laut als wegen vielleicht abbestellen klingt`.split(/\s+/),
  negations: 'nicht kein keine keinen keiner keinem nie niemals niemand weder ohne nichts'.split(' '),
  falseNegations: [
    'nicht nur',
    'nicht abgeneigt',
    'nicht zögern',
    'kein problem',
    'keine frage',
    'warum nicht',
    'nicht zufrieden mit',
  ],
  clauseBreaks: ['aber', 'und', 'sondern', 'jedoch', 'doch', 'weil', 'dann', 'denn'],
  groups: [...germanOptOut, ...germanRefusals, ...germanPeople, ...germanWishes],
  nameLeads:
    `herr herrn frau dr kollege kollegin kollegen nachfolger nachfolgerin ist an wäre leiter leiterin it-leiterin
    geschäftsführer geschäftsführerin vertretung mit`.split(/\s+/),
}
