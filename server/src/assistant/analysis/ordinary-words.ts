// Words that the title of a task or a summary may begin with or, in German, write with a capital letter, although the
// note does not contain them. None of them names a person, a company, a place, a day or an amount.

const english = `
a an the this that their they he she it we you i our your his her there and or but if as at by for from in into of on to
with without about after before also not no yes please sender contact customer client caller lead prospect person author
note message email mail call phone reply answer
accepts adds agrees announces answers apologizes apologises asks asking calls cancels changes checks claims clarifies
complains confirms considers contacts declines describes discusses does expects expresses follows forwards gives has
hopes indicates informs invites is leaves likes looks looking makes mentions moves needs offers opts orders plans
postpones prefers proposes provides reads recommends refers refuses rejects reports requests requires replies responds
returns says seeks sends shares shows stops suggests tells thanks thinks tries unsubscribes visits waits wants wishes
works would will was were are be been
accept add agree announce apologize arrange ask book bring buy cancel change check clarify compare complete confirm
consider create decline deliver describe discuss draft explain find finish follow forward get give go help inform invite
leave let look make mark mention move negotiate offer open order organize organise pass pay plan postpone prepare
present propose provide read recommend refer reject remind remove report request reschedule respond return review
schedule see send set share show sign start stop suggest talk tell test thank try update verify visit wait want write
interested uninterested unclear possible potential currently new existing
access account agreement appointment brochure budget catalogue contract conversation date decision demo details
discount document documents feedback information interest invoice issue meeting offer order payment price prices
pricing problem product products project proposal question questions quote request requirements sample samples
solution status support team trial visit`

const german = `
der die das den dem des ein eine einen einem einer eines er sie es wir ihr ihre ihren ihrem ihrer ihnen ich man und oder
aber wenn als am an auf aus bei bis für im in mit nach ohne über um unter von vor zu zum zur kein keine keinen nicht
auch bitte derzeit noch absender absenderin kunde kundin kunden interessent interessentin person kontakt
bittet braucht dankt erwartet erwähnt fragt hat ist kündigt lehnt möchte nennt plant schlägt schreibt sagt sucht teilt
verschiebt verweist wartet will wünscht benötigt bestellt bestätigt beschwert interessiert hätte wäre wird soll
abklären absagen anbieten anfordern anfragen anrufen ansehen antworten aufnehmen ausarbeiten beantworten bearbeiten
bestellen bestätigen besprechen besuchen beraten bereiten danken einladen einrichten entfernen erinnern erklären
erstellen fragen geben hinzufügen informieren klären kontaktieren liefern melden mitbringen nachfassen nachfragen
planen prüfen rückfragen schicken schreiben senden telefonieren testen treffen verschicken verschieben vereinbaren
vorbereiten vorschlagen warten weiterleiten zurückrufen zusenden zeigen
abmeldung abstimmung adresse änderung anfrage angaben angebot ankunft anliegen anruf ansprechpartner ansprechpartnerin
anschluss antwort aufgabe auftrag auskunft austausch bedarf bedingungen beratung beschwerde besprechung bestätigung
bestellung besuch betreff brief broschüre budget datum demo details dokument dokumente email mail einladung
entscheidung ergebnis erinnerung fall fehler frage fragen freigabe gespräch hilfe hinweis information informationen
interesse investition katalog kauf kollege kollegin konditionen konto kosten kündigung lieferung lösung material
meldung muster nachfrage nachricht newsletter nummer personal preis preise preisliste problem produkt produkte projekt
prospekt rabatt rechnung rückfrage rückmeldung rückruf sache seite stand support team telefon telefonat termin test
thema treffen umfang unterlagen unternehmen unterstützung vereinbarung verfügbarkeit vergleich verlängerung vertrag
vorführung vorschlag werbung wunsch zahlung zeit ziel zugang zusammenarbeit zusage`

export const ordinaryWords: ReadonlySet<string> = new Set(`${english} ${german}`.trim().split(/\s+/))
