import type { Texts } from './texts-en.ts'

/** The texts of mails in German. */
export const german: Texts = {
  signUp: {
    subject: 'Legen Sie Ihr Konto an',
    text: 'Jemand, vermutlich Sie, möchte mit dieser Adresse ein Konto bei {host} anlegen.',
    link: 'Konto anlegen',
    lifetime: 'Der Link gilt einmal, 30 Minuten lang.',
    notYou:
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese Mail. Solange niemand den Link öffnet, passiert nichts.',
  },
  alreadyRegistered: {
    subject: 'Sie haben bereits ein Konto',
    text: 'Jemand, vermutlich Sie, wollte mit dieser Adresse ein Konto bei {host} anlegen. Sie hat bereits eines; Sie können sich also anmelden.',
    password: 'Wenn Sie Ihr Passwort vergessen haben, fordern Sie dort ein neues an.',
    notYou: 'Wenn Sie das nicht angefordert haben, müssen Sie nichts tun. Es wurde nichts geändert.',
  },
  verifyAddress: {
    subject: 'Bestätigen Sie Ihre Adresse',
    text: 'Diese Adresse wurde für ein Konto bei {host} angegeben. Öffnen Sie den Link, um zu bestätigen, dass sie Ihnen gehört.',
    link: 'Adresse bestätigen',
    lifetime: 'Der Link gilt einmal, 24 Stunden lang.',
    notYou: 'Wenn Sie dort kein Konto haben, ignorieren Sie diese Mail und öffnen Sie den Link nicht.',
  },
  resetPassword: {
    subject: 'Legen Sie ein neues Passwort fest',
    text: 'Jemand, vermutlich Sie, möchte ein neues Passwort für Ihr Konto bei {host} festlegen.',
    link: 'Neues Passwort festlegen',
    lifetime: 'Der Link gilt einmal, 30 Minuten lang. Ein neues Passwort meldet Sie auf allen Geräten ab.',
    notYou:
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese Mail. Ihr Passwort bleibt dasselbe. Geben Sie den Link an niemanden weiter.',
  },
  invitation: {
    subject: 'Einladung zu {organization}',
    text: 'Sie sind eingeladen, der Organisation „{organization}“ bei {host} beizutreten.',
    invitedBy: 'Eingeladen von: {name}',
    link: 'Einladung öffnen',
    lifetime: { one: 'Der Link gilt einmal, einen Tag lang.', other: 'Der Link gilt einmal, {count} Tage lang.' },
    shortLifetime: 'Der Link gilt einmal, weniger als einen Tag lang.',
    notYou:
      'Wenn Sie diese Einladung nicht erwarten, ignorieren Sie diese Mail: Ohne den Link werden Sie nicht aufgenommen.',
  },
  newDevice: {
    subject: 'Neue Anmeldung an Ihrem Konto',
    text: 'Jemand hat sich mit einem neuen Gerät an Ihrem Konto bei {host} angemeldet.',
    time: 'Zeit: {time}',
    device: 'Gerät: {device}',
    address: 'Adresse: {address}',
    unknown: 'unbekannt',
    you: 'Wenn Sie das waren, müssen Sie nichts tun.',
    notYou:
      'Wenn Sie das nicht waren, kennt jemand Ihr Passwort. Melden Sie sich an, beenden Sie alle Sitzungen und legen Sie sofort ein neues Passwort fest.',
  },
  accountChanged: {
    subject: 'Ihr Konto wurde geändert',
    text: 'Ihr Konto bei {host} wurde geändert: {change}',
    changes: {
      'password-changed': 'Das Passwort wurde geändert.',
      'second-factor-added': 'Ein zweiter Faktor wurde hinzugefügt.',
      'second-factor-removed': 'Ein zweiter Faktor wurde entfernt.',
      'passkey-added': 'Ein Passkey wurde hinzugefügt.',
      'passkey-removed': 'Ein Passkey wurde entfernt.',
      'recovery-codes-made': 'Neue Wiederherstellungscodes wurden erzeugt; die bisherigen gelten nicht mehr.',
      'address-changed': 'Die E-Mail-Adresse wurde geändert.',
      'sessions-ended': 'Alle Sitzungen wurden beendet.',
      'identity-linked': 'Eine Anmeldung beim Anbieter einer Organisation wurde verknüpft.',
      'identity-unlinked': 'Eine Anmeldung beim Anbieter einer Organisation wurde getrennt.',
    },
    you: 'Wenn Sie das waren, müssen Sie nichts tun.',
    notYou:
      'Wenn Sie das nicht waren, kann jemand anderes Ihr Konto verwenden. Melden Sie sich an, beenden Sie alle Sitzungen und legen Sie sofort ein neues Passwort fest. Wenn Sie sich nicht mehr anmelden können, bitten Sie einen Inhaber Ihrer Organisation um Hilfe.',
  },
  organization: 'Organisation: {organization}',
  webhook: {
    text: 'Es geht um einen Webhook einer Organisation bei {host}.',
    receiver: 'Empfänger: {receiver}',
    failing: {
      subject: 'Ein Webhook schlägt fehl',
      text: 'Alles, was in den letzten zweieinhalb Tagen an ihn gesendet wurde, ist fehlgeschlagen.',
      advice:
        'Wenn das weitere zweieinhalb Tage so bleibt, sendet der Dienst nichts mehr an ihn. Sehen Sie sich die Fehler seiner Zustellungen an.',
    },
    disabled: {
      subject: 'Ein Webhook wurde abgeschaltet',
      text: 'Alles, was in den letzten fünf Tagen an ihn gesendet wurde, ist fehlgeschlagen. Der Dienst sendet deshalb nichts mehr.',
      advice:
        'Reparieren Sie den Empfänger und schalten Sie den Webhook dann wieder ein. Er macht weiter, wo er aufgehört hat, soweit die Ereignisse noch gespeichert sind.',
    },
    gone: {
      subject: 'Ein Webhook wurde abgeschaltet',
      text: 'Der Empfänger hat geantwortet, dass es ihn nicht mehr gibt (410). Der Dienst sendet deshalb nichts mehr.',
      advice:
        'Wenn das ein Irrtum ist, schalten Sie den Webhook wieder ein. Er macht weiter, wo er aufgehört hat, soweit die Ereignisse noch gespeichert sind.',
    },
    recovered: {
      subject: 'Ein Webhook funktioniert wieder',
      text: 'Der Empfänger nimmt wieder Ereignisse an.',
      advice: 'Sie müssen nichts tun.',
    },
  },
  reminder: {
    reminder: {
      subject: 'Erinnerung an eine Aufgabe',
      text: 'Sie wollten an eine Aufgabe erinnert werden.',
    },
    taskDue: { subject: 'Eine Aufgabe ist überfällig', text: 'Eine Ihrer Aufgaben ist überfällig.' },
    task: 'Aufgabe: {title}',
    link: 'Aufgabe öffnen',
    settings: 'Die Einstellungen Ihres Eingangs bestimmen, welche Erinnerungen Sie per Mail erhalten.',
  },
  digest: {
    subject: 'Neu in Ihrem Eingang: {count}',
    text: 'Das ist neu für Sie bei {host}.',
    line: '{says}: {title}',
    others: {
      one: 'In Ihrem Eingang ist ein weiterer Eintrag.',
      other: 'In Ihrem Eingang sind {count} weitere Einträge.',
    },
    link: 'Eingang öffnen',
    settings: 'Auswählen, was Sie per Mail erhalten, und wann',
  },
}
