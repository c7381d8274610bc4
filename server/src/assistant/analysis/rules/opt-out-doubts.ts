import type { Match } from './matches.ts'
import { quotesIn, type Sentence } from './text.ts'

/**
 * An opt-out acts by itself only if the author wishes it for themselves, about mail. Asked, reported, quoted or
 * conditional, it waits for a person (`opt_out`); negated or about something else, it is dropped.
 */
export function withoutDoubtfulOptOuts(matches: readonly Match[], sentences: readonly Sentence[]): Match[] {
  const isOpposed = sentences.some(({ normal }) => opposite.test(normal))
  return matches.flatMap((match) => {
    if (match.meaning !== 'opt_out' && match.meaning !== 'opt_out_self') return [match]
    const place = placeOf(match)
    if (isDropped(place)) return []
    if (isOpposed && !isImperative(place)) return []
    const isDoubtful = isOpposed || isDoubted(place) || isJoke(place, sentences)
    return [isDoubtful ? { ...match, meaning: 'opt_out' } : match]
  })
}

interface Occurrence {
  match: Match
  normal: string
  before: string
  words: string
  after: string
}

function placeOf(match: Match): Occurrence {
  const normal = match.sentence.normal.replaceAll(/\s/g, ' ')
  const [start, end] = [match.start - match.sentence.start, match.end - match.sentence.start]
  return { match, normal, before: normal.slice(0, start), words: normal.slice(start, end), after: normal.slice(end) }
}

const anyOf = (...sources: string[]): RegExp => new RegExp(String.raw`(?<!\p{L})(?:${sources.join('|')})(?!\p{L})`, 'u')

const mail = anyOf(
  String.raw`newsletters?|e?-?mails?|e-mails?|mailings?|mailing ?lists?|\p{L}*verteilers?|\p{L}*verteilern|marketing|messages?|nachrichten|spam|werbung|werbemails?|advertising|distribution|lists?|liste|listen|database|datenbank|crm|records|system|kontakt\p{L}*`,
)
const mailItself = anyOf(
  String.raw`newsletters?|e?-?mails?|e-mails?|mailings?|mailing ?lists?|\p{L}*verteiler|marketing|spam|werbung|werbemails?|advertising`,
)

const footer =
  /click here|klicken sie hier|hier klicken|unsubscribe here|hier abmelden|(?:^|[,;|:] )to (?:unsubscribe|stop receiving|opt out|be removed)(?!\p{L})|zum abmelden|um sich (?:abzumelden|auszutragen)|manage (?:your|my) (?:e?-?mail )?preferences|update your preferences|you(?: are|'re) receiving|sie erhalten diese|unsubscribe (?:link|button|page|option)|abmeldelink|(?:if|wenn|falls|should|sollten) (?:you|sie|du|ihr) .{0,40}(?:no longer|do not|don't|nicht mehr|nicht länger|keine).{0,30}(?:wish|want|receive|erhalten|wünschen|möchten|bekommen)/u

const opposite = anyOf(
  're-?subscribe',
  'sign (?:me|us) (?:back )?up',
  'put (?:me|us) back',
  'add (?:me|us) (?:back|again)',
  'keep (?:me|us) (?:on|subscribed)|keep (?:sending|emailing|mailing)|stay (?:on|subscribed)',
  String.raw`(?<!(?:n't|not|longer|never|dont)(?: \p{L}+)? )(?:want|like|love) (?:to (?:keep|continue|stay)(?! (?:off|out))|to (?:receive|get)(?! (?:no|off|out|rid|removed))|your (?:mails|emails|e-mails|newsletter)|the (?:newsletter|mails|emails) back)`,
  String.raw`(?:unsubscribed|removed|taken off|opted out|abgemeldet|ausgetragen|gelöscht) .{0,30}(?:by mistake|by accident|accidentally|aus versehen|versehentlich|irrtümlich)`,
  String.raw`(?:accidentally|mistakenly|wrongly|versehentlich|aus versehen|irrtümlich) .{0,30}(?:unsubscribed?|removed?|opted|clicked|abgemeldet|ausgetragen|abbestellt)`,
  String.raw`(?:don't|do not|dont|never|please not|not) (?:ever )?(?:unsubscribe|remove|delete|take|drop) (?:me|us|my|our)`,
  "(?:didn't|did not|never|don't|do not) (?:unsubscribe|(?:want|wanted|asked|ask|request|requested|mean|meant) to (?:unsubscribe|be (?:removed|unsubscribed|taken off|deleted)|opt out))",
  'wieder (?:aufnehmen|anmelden|eintragen|hinzufügen|in den verteiler|in ihren verteiler|auf die liste|auf ihre liste)',
  String.raw`(?:tragen|nehmen|melden|trag|nimm|melde) (?:sie )?(?:mich|uns) (?:bitte )?wieder`,
  String.raw`(?:möchte|will|würde|möchten|wollen)(?: \p{L}+){0,4} (?:weiterhin|weiter|gern|gerne)(?! (?:nicht|kein)) (?!.*(?:kein|nicht)).{0,40}(?:erhalten|bekommen|lesen|bleiben)`,
  '(?<!noch )nicht (?:mehr )?(?:abmelden|abbestellen|austragen|abgemeldet werden|ausgetragen werden|(?:aus|von|vom) (?:dem |der |ihrem |ihrer )?(?:verteiler|newsletter|liste))',
  '(?:mich|uns) (?:bitte )?nicht (?:ab|aus)',
  'im verteiler bleiben|auf der liste bleiben|im newsletter bleiben',
)

/** Lists, plans and groups that have nothing to do with mail. */
const otherThings = anyOf(
  String.raw`(?:guest|waiting|wait|short|attendees?|participants?|speakers?|invite|invitation|reference|price|task|to-?do|shopping|vendors?|suppliers?|vip|candidates?|applicants?|call|contact person|customer reference)[ -]?lists?`,
  String.raw`list of (?:attendees|participants|speakers|references|guests|candidates|suppliers|vendors)`,
  String.raw`group|channel|slack|teams|whatsapp|chat|thread|webinar|event|meeting|calendar|invite|board|committee|project|team|beta|competition|raffle|plan|premium|trial|licen[cs]e|seats?|software|app|product|order|delivery|shipment|contract|membership|course|training|conference|workshop|demo|auto-?renewal|renewal|insurance|workspace|repository|portal|account (?:of|for)|invoices?|quote|proposal|cc|role|position|agenda|schedule|roster|shift|vip|loyalty program|directory|website|references page`,
  String.raw`\p{L}*(?:gästeliste|warteliste|teilnehmerliste|rednerliste|einladungsliste|referenzliste|preisliste|anwesenheitsliste|bewerberliste|lieferantenliste)|projekt|projektteam|gruppe|kanal|abo|tarif|pro-tarif|paket|vertrag|bestellung|lieferung|lizenz|kurs|seminar|konferenz|webinar|veranstaltung|messe|schulung|termin|testphase|probephase|gewinnspiel|beirat|ausschuss|team|rechnung|angebot|protokoll|dienstplan|webseite|website`,
)

const dateAfter =
  /^[^.!?]{0,30}?(?<!\p{L})(?:before|until|till|vor|bis|erst)(?:,? (?:the|dem|zum|next|nächste\p{L}*|end|ende|after|nach|early|mid|im|in))* (?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|m[aä]r|apr|may|mai|jun|jul|aug|sep|o[ck]t|nov|de[cz]|q[1-4]|week|month|quarter|year|woche|monats?|quartal|jahr|montag|dienstag|mittwoch|donnerstag|freitag|christmas|easter|weihnachten|ostern|summer|sommer|spring|herbst|autumn|frühjahr|noon)/u
const limit = anyOf(
  'before|until|till|yet|for now|during|at night|on weekends|this week|noch nicht|vorerst|zur zeit|am wochenende|während|im moment nicht|for the moment|at the moment',
)

/** Negated, not about mail, or the footer of a mailing. */
function isDropped({ normal, before, words, after }: Occurrence): boolean {
  if (footer.test(normal)) return true
  const near = words + (/^[^.;!?]{0,70}/u.exec(after)?.[0] ?? '')
  const objects =
    /(?<!\p{L})(?:from|off|out of|of|to|as|in|aus|von|vom|für|list|liste|the|my|our|diese[rsn]?|die|den|das|meine?|unsere?)(?!\p{L})/u.test(
      near,
    )
  if (objects && otherThings.test(near) && !mailItself.test(near)) return true
  if (
    /^(?:remove|delete|remove us|unsubscribe me|unsubscribe us|delete me|remove me|opt me out|opt us out)/.test(
      words,
    ) &&
    /^ (?:from|as|of|off|out of) /.test(after) &&
    !mail.test(after)
  )
    return true
  if (/ nicht /.test(words) && !/(?:nicht|nie) (?:mehr|wieder|weiter)/.test(words)) return true
  if (
    /(?:never|didn't|did not|nie|nicht|not true that i) (?:said|say|saying|asking|meant|mean|gesagt|gemeint|verlangt)/u.test(
      before,
    )
  )
    return true
  if (dateAfter.test(after) && !/data|daten|list|verteiler/u.test(words)) return true
  if (/(?:call|anruf|text|phone|rufen)/u.test(words) && !/mail|contact|write|messag|kontakt|schreib/u.test(words))
    return /(?:e?-?mails?|write|writing|schreib\p{L}*|mailen)(?: me| us| sie| is| ist| mir)*(?: \p{L}+)? (?:fine|ok|okay|instead|better|only|gut|lieber|stattdessen|besser|reicht)/u.test(
      normal,
    )
  const why = /(?<!\p{L})(?:why|how come|who|when|warum|wieso|weshalb|wer|wann)(?!\p{L})/u.test(before)
  const isUnmet = /(?:n't|not|still|nicht|immer noch|noch immer|endlich|ever)(?!\p{L})/u.test(before)
  return why && !isUnmet && isQuestion(normal)
}

const questionStart =
  /^(?:\P{L}|(?:and|but|so|hi|hello|hey|und|aber|hallo)(?!\p{L}))*(?:why|who|when (?:did|do|will)|how come|did you|have you|has|was i|were we|am i|do i|should i|how do i|how can i|how to|can i|may i|is it|do you|does|warum|wieso|weshalb|wer|wann|haben sie|habt ihr|hast du|wurde ich|bin ich|soll ich|muss ich|kann ich|wie kann ich|wie melde|wie bestelle|darf ich)(?!\p{L})/u
const isQuestion = (normal: string): boolean => normal.trimEnd().endsWith('?') || questionStart.test(normal)
const polite = anyOf(
  String.raw`(?:can|could|would|will|won't|can't) (?:you|u|someone|somebody|ya)|please|pls|könnten sie|können sie|könntet ihr|könnt ihr|kannst du|könntest du|würden sie|würdest du|würdet ihr|wären sie|bitte`,
)

const verbsOfSaying =
  'said|says|say|asked|asks|told|wrote|writes|wants|wanted|wishes|wished|requested|requests|demands|demanded|mentioned|claims|claimed|insists|insisted|thinks|jokes|joked|complains|complained|texted|emailed|replied|answered|called and|shouted|sagt|sagte|schrieb|schreibt|bittet|bat|fordert|forderte|verlangt|verlangte|möchte|will|wünscht|meinte|meint|teilte|antwortete|erklärte|beschwert|beschwerte'
const reported = new RegExp(
  String.raw`(?<![\p{L}'])(?!(?:i|we|i've|we've|i'd|we'd|ich|wir|as|wie|already|bereits|schon|and|und|just|please|bitte)(?![\p{L}']))[\p{L}'.-]+,? (?:has |have |had |just |already |also |then |hat |haben |hatte |uns |mir |me |us |gerade |am telefon )*(?:${verbsOfSaying})(?!\p{L})(?! (?:ich|wir|i|we)(?!\p{L}))`,
  'u',
)
const reportedStart =
  /^\P{L}*(?:asked|asks|wants|wishes|requested|requests|would like|told|möchte|will|bittet|wünscht|verlangt|fordert|says|said|sagt)(?!\p{L})(?! (?:ich|wir|i|we)(?!\p{L}))/u
const reportedPerfect =
  /(?<!\p{L})(?:hat|haben) (?:\p{L}+ ){0,5}(?:gebeten|gesagt|geschrieben|verlangt|gefordert|mitgeteilt)/u
const byThirdPerson =
  /(?<!\p{L})(?:he|she|they|client|customer|contact|caller|lead|prospect|kunde|kundin|interessent|anrufer(?:in)?|er|herr \p{L}+|frau \p{L}+|(?:mr|mrs|ms|dr)\.? \p{L}+) (?:\p{L}+ ){0,3}$/u
const byFirstPerson = /(?<!\p{L})(?:ich|wir) (?:habe|haben|hatte|hatten)|(?:habe|hatte) ich|(?:haben|hatten) wir/u

const condition = anyOf(
  'if|unless|otherwise|or else|once|when|whenever|as soon as|in case|should you|wenn|falls|sofern|sobald|sonst|ansonsten|es sei denn|andernfalls|sollten sie',
)
const politeCondition =
  /(?:if|when|wenn|falls|sobald|sofern)(?: (?:at all|irgend|that is|that's))? (?:possible|möglich|you (?:can|could|would|don't mind|please|get a chance|have a (?:moment|minute|second))(?!\p{L}|'t| not)|es (?:geht|ihnen nichts ausmacht)|sie (?:so (?:nett|freundlich|gut)|können|kurz zeit))|as soon as (?:possible|you can)|once (?:and for all|again|more)|(?:nett|schön|dankbar|freundlich|froh|super|toll|prima|appreciate (?:it|that)|grateful|great|nice|glad|happy|good)[^.!?]{0,12},? (?:wenn|if)(?!\p{L})/gu

const hypothetical =
  /(?<!\p{L})(?:almost|nearly|about to|thinking (?:of|about)|considering|was going to|were going to|might|tempted to|fast hätte|beinahe|überlege|would have|hätte (?:ich )?fast|used to)(?!\p{L})/u
const othersIn =
  /(?<!\p{L})(?:him|her|them|my (?:colleague|boss|wife|husband|assistant|team|customer|client|mother|father|friend|manager|co-?worker|employees?)s?|our (?:customers?|clients?|users?|team|employees|colleagues?)|everyone|everybody|all users|frau|herrn?|ihn|(?:meine|meinen|unsere|unseren) (?:kolleg\p{L}*|chef\p{L}*|mitarbeiter\p{L}*|kund\p{L}*|frau|mann|assistent\p{L}*))(?!\p{L})/u

/** Would a person have to look at it? */
function isDoubted({ match, normal, before, words, after }: Occurrence): boolean {
  const { sentence } = match
  const at = match.start - sentence.start
  const isQuoted = sentence.isQuoted || quotesIn(sentence).some(({ start, end }) => start <= at && at < end)
  if (isQuoted || othersIn.test(words + after.slice(0, 30)) || othersIn.test(before.slice(-30))) return true
  if (isQuestion(normal) && !polite.test(before + words)) return true
  if (/^(?:doesn't|doesnt|does not|no longer (?:wants|wishes|likes))/.test(words) || byThirdPerson.test(before))
    return true
  if (reported.test(before) || reportedStart.test(before) || reportedStart.test(normal)) return true
  if (reportedPerfect.test(normal) && !byFirstPerson.test(normal)) return true
  if (condition.test(normal.replaceAll(politeCondition, ' '))) return true
  if (hypothetical.test(before) || limit.test(after.slice(0, 40))) return true
  if (/subscription|abo(?!\p{L})/u.test(words) && !mailItself.test(words + after.slice(0, 60))) return true
  if (
    /campaign|sequence|kampagne|call|anruf|text|phone|rufen/u.test(words) &&
    !/mail|contact|write|messag|kontakt|schreib/u.test(words)
  )
    return true
  if (/(?:art\.?|article|artikel|right to|recht auf)/u.test(words) && !claims.test(normal)) return true
  if (words.startsWith('to be ') && !/(?<!\p{L})(?:i|we|i'd|we'd)(?!\p{L})/u.test(before)) return true
  return /(?:to|at|an|unter|auf) (?:this|my old|the old|my private|my work|diese|meine alte|meine private) (?:address|e?-?mail|adresse|inbox)|new address is|neue adresse/u.test(
    after,
  )
}

/** Who names a right claims it, unless they ask for documents about it. */
const claims = anyOf(
  'exercise|exercising|invoke|invoking|request|demand|hereby|pursuant|under|according to|delete|erase|remove|fordere|verlange|beantrage|hiermit|gebrauch|gemäß|nach|berufe|löschen|löschung|widerspreche|bitte|please|my|mein|meine|meiner|meinem|want|insist',
)

const isImperative = ({ match, before }: Occurrence): boolean =>
  match.meaning === 'opt_out_self' &&
  /(?:^|[,;:] |please |bitte )$/u.test(before) &&
  !/(?:don't|not|nicht|never)/u.test(before)

const joke =
  /(?<!no |kein |keine )(?<!\p{L})(?:just kidding|only kidding|kidding|jk|lol|haha\p{L}*|hehe|rofl|joke|joking|scherz|spaß|spass|witz)(?!\p{L})|[\u{1F602}\u{1F923}\u{1F609}\u{1F61C}\u{1F605}\u{1F606}\u{1F61D}\u{1F92A}]|;-?\)|:-?[pd](?!\p{L})/u

const isJoke = ({ match: { sentence }, normal }: Occurrence, sentences: readonly Sentence[]): boolean =>
  joke.test(normal) || joke.test(sentences[sentence.index + 1]?.normal ?? '')
