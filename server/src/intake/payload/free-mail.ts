const splitWords = (text: string): string[] => text.trim().split(/\s+/)

/** Providers with domains in many countries, and the suffixes of their domains. */
const suffixesByProvider: Record<string, string> = {
  aol: 'com at be ca ch cl co.nz co.uk com.ar com.au com.br com.mx cz de dk es fi fr hu ie in it jp kr nl pl se',
  gmail: 'com',
  gmx: 'de net at ch com biz ca cc co.in co.uk es eu fr hk ie info it li lu name org ph pt ru se sg tm tw us',
  googlemail: 'com de co.uk',
  hotmail:
    'com at be ca ch cl co.id co.il co.jp co.kr co.nz co.th co.uk co.za com.ar com.au com.br com.hk com.mx com.tr com.tw com.vn cz de dk es fi fr gr hu ie it lt lv my nl no ph pl pt ro rs se sg sk',
  live: 'com at be ca ch cl cn co.in co.kr co.uk co.za com.ar com.au com.mx com.my com.ph com.pk com.pt com.sg de dk fi fr hk ie in it jp nl no ph pt ru se',
  outlook:
    'com at be cl co.id co.il co.nz co.th co.uk com.ar com.au com.br com.gr com.pe com.tr com.vn cz de dk es fr hu ie in it jp kr lv my ph pt sa sg sk',
  protonmail: 'com ch',
  rediffmail: 'com',
  rocketmail: 'com',
  tutanota: 'com de',
  vodafonemail: 'de',
  yahoo:
    'com at be bg ca ch cl cn co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za com.ar com.au com.br com.cn com.co com.hk com.mx com.my com.pe com.ph com.sg com.tr com.tw com.ve com.vn cz de dk ee es fi fr gr hr hu ie in it lt lv my nl no ph pl pt ro rs se sg si sk',
  yandex: 'com az by co.il com.am com.ge com.tr ee fr kg kz lt lv md pl ru tj tm ua uz',
  ymail: 'com',
}

/** Other domains: public mail providers, internet providers, relays, and well-known disposable mail. */
const otherDomains = splitWords(`
  icloud.com mac.com me.com privaterelay.appleid.com msn.com windowslive.com aim.com bellsouth.net
  proton.me pm.me tuta.com tuta.io tutamail.com keemail.me hey.com fastmail.com fastmail.fm duck.com hushmail.com
  mozmail.com simplelogin.com anonaddy.com zoho.com zohomail.com zohomail.eu zohomail.in mailfence.com runbox.com
  disroot.org riseup.net startmail.com countermail.com ctemplar.com posteo.de posteo.net mailbox.org mailo.com
  mail.com email.com usa.com europe.com asia.com myself.com consultant.com engineer.com lawyer.com doctor.com
  accountant.com techie.com iname.com cheerful.com writeme.com dr.com workmail.com programmer.net post.com inbox.com
  lycos.com excite.com juno.com netzero.net netzero.com earthlink.net mindspring.com netscape.net usa.net
  pobox.com bigfoot.com compuserve.com
  att.net sbcglobal.net pacbell.net ameritech.net swbell.net comcast.net verizon.net cox.net charter.net
  spectrum.net rr.com roadrunner.com optonline.net optimum.net frontier.com frontiernet.net centurylink.net
  centurytel.net embarqmail.com q.com windstream.net suddenlink.net cableone.net wowway.com rcn.com hughes.net
  tds.net prodigy.net qwest.net adelphia.net bellatlantic.net mchsi.com fuse.net ptd.net
  rogers.com shaw.ca sympatico.ca telus.net videotron.ca bell.net cogeco.ca eastlink.ca sasktel.net mts.net
  btinternet.com btopenworld.com talktalk.net talktalk.co.uk tiscali.co.uk virginmedia.com virgin.net ntlworld.com blueyonder.co.uk
  sky.com o2.co.uk plusnet.com plus.com freeserve.co.uk eircom.net
  web.de t-online.de freenet.de arcor.de online.de email.de mail.de kabelmail.de unitybox.de unity-mail.de
  o2online.de alice-dsl.net netcologne.de versanet.de ewetel.net ewe.net gmx-topmail.de
  firemail.de e-mail.de
  aon.at chello.at a1.net bluewin.ch hispeed.ch sunrise.ch swissonline.ch
  orange.fr wanadoo.fr free.fr laposte.net sfr.fr neuf.fr bbox.fr numericable.fr club-internet.fr voila.fr aliceadsl.fr
  libero.it virgilio.it tiscali.it alice.it tin.it tim.it iol.it inwind.it fastwebnet.it email.it poste.it
  telefonica.net ono.com terra.es wanadoo.es sapo.pt iol.pt netcabo.pt clix.pt
  ziggo.nl kpnmail.nl planet.nl hetnet.nl home.nl chello.nl casema.nl upcmail.nl xs4all.nl zonnet.nl quicknet.nl
  telenet.be skynet.be proximus.be scarlet.be voo.be
  telia.com tele2.se bredband.net comhem.se spray.se online.no broadpark.no c2i.net mail.dk stofanet.dk
  jubii.dk tdcadsl.dk kolumbus.fi elisanet.fi luukku.com suomi24.fi simnet.is
  wp.pl o2.pl interia.pl interia.eu onet.pl onet.eu op.pl poczta.onet.pl poczta.fm tlen.pl vp.pl gazeta.pl
  seznam.cz centrum.cz email.cz post.cz volny.cz atlas.cz azet.sk centrum.sk zoznam.sk
  freemail.hu citromail.hu t-online.hu abv.bg mail.bg dir.bg otenet.gr forthnet.gr inbox.lv inbox.lt mail.ee
  mail.ru bk.ru inbox.ru list.ru internet.ru rambler.ru ya.ru lenta.ru ukr.net i.ua meta.ua bigmir.net tut.by mail.kz pochta.ru
  mynet.com walla.com walla.co.il bezeqint.net netvision.net.il 012.net.il emirates.net.ae
  bol.com.br uol.com.br terra.com.br ig.com.br globo.com globomail.com zipmail.com.br r7.com oi.com.br
  prodigy.net.mx terra.com.mx fibertel.com.ar speedy.com.ar arnet.com.ar ciudad.com.ar vtr.net terra.cl cantv.net terra.com terra.com.ar
  qq.com vip.qq.com foxmail.com 163.com vip.163.com 126.com 188.com 139.com 189.cn wo.cn yeah.net sina.com sina.cn
  vip.sina.com sohu.com tom.com 21cn.com aliyun.com netvigator.com hinet.net pchome.com.tw singnet.com.sg
  naver.com hanmail.net daum.net nate.com kakao.com docomo.ne.jp ezweb.ne.jp au.com softbank.ne.jp i.softbank.jp
  biglobe.ne.jp nifty.com so-net.ne.jp ocn.ne.jp plala.or.jp dion.ne.jp excite.co.jp
  rediff.com sify.com indiatimes.com vsnl.net bsnl.in airtelmail.in
  bigpond.com bigpond.net.au optusnet.com.au iinet.net.au tpg.com.au internode.on.net westnet.com.au ozemail.com.au
  xtra.co.nz slingshot.co.nz orcon.net.nz mweb.co.za telkomsa.net vodamail.co.za webmail.co.za iafrica.com
  mailinator.com yopmail.com guerrillamail.com guerrillamail.org sharklasers.com 10minutemail.com temp-mail.org
  tempmail.com trashmail.com throwawaymail.com maildrop.cc getnada.com dispostable.com fakeinbox.com
  mailnesia.com mintemail.com moakt.com emailondeck.com spamgourmet.com byom.de wegwerfmail.de trash-mail.com
`)

const freeMailDomains = new Set([
  ...Object.entries(suffixesByProvider).flatMap(([name, suffixes]) =>
    splitWords(suffixes).map((suffix) => `${name}.${suffix}`),
  ),
  ...otherDomains,
])

/** Hosts on which many companies have pages. Hosts on the Public Suffix List need no entry. */
const pageHosts = new Set(
  splitWords(`
  facebook.com fb.com fb.me instagram.com linkedin.com twitter.com x.com github.com gitlab.com tiktok.com youtube.com
  youtu.be pinterest.com threads.net medium.com vk.com xing.com wa.me t.me telegram.me whatsapp.com
  google.com goo.gl g.page linktr.ee linkin.bio beacons.ai about.me carrd.co bio.link
  crunchbase.com yelp.com tripadvisor.com trustpilot.com booking.com airbnb.com etsy.com ebay.com
  apps.apple.com notion.so bit.ly tinyurl.com
`),
)

/** Whether the domain, or one above it, gives mail addresses to anyone. `domain` in stored form. */
export const isFreeMail = (domain: string): boolean => isWithin(domain, freeMailDomains)

/** Whether many companies have pages on this host. */
export const isSharedHost = (domain: string): boolean => isWithin(domain, pageHosts)

/** Whether it is one of the domains, or below one of them. */
function isWithin(domain: string, domains: ReadonlySet<string>): boolean {
  for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    if (domains.has(name)) return true
  }
  return false
}
