import type { LocaleText } from './locale.ts'

/** Languages of Northern and Eastern Europe: Latin letters with many marks, Cyrillic and Greek. */
export const eastern: readonly LocaleText[] = [
  {
    language: 'nl',
    script: 'Latin',
    weight: 3,
    female: 'Fenna Sanne Noëlle Liesbeth Maaike Loïs Anouk Jantien Zoë Roos',
    male: 'Daan Jurriën Sjoerd Coen Thijs Raphaël Gijs Wouter Jeroen Floris',
    last: 'van_der_Berg de_Vries van_’t_Hof Janssens IJsselmuiden Vermeulen Daniëls ten_Brink Bakker Visser Hoekstra van_den_Heuvel Coëlho Kuiper',
    double: [0.08, '-'],
    mail: 'brievenbus.example',
    cities: `
      Amsterdam|Noord-Holland|NL|Europe/Amsterdam|52.3676|4.9041|+3120000|4
      ’s-Hertogenbosch|Noord-Brabant|NL|Europe/Amsterdam|51.6978|5.3037|+3173000|4
      Antwerpen|Antwerpen|BE|Europe/Brussels|51.2194|4.4025|+323000|4`,
    trades: 'Bloemen Scheepsbouw Zuivel Waterbouw Drukkerij Fietsen',
    companies: ['N T B.V.', 'Gebroeders N T', 'N T N.V.'],
    titles: ['Accountmanager:manager', 'Bestuurder:c_suite', 'Ontwikkelaar:senior', 'Stagiair:intern', 'Inkoper:mid'],
    tags: ['klant', 'beurs', 'nieuwsbrief', 'relatie'],
    notes: ['Wil graag een offerte voor drie vestigingen.', 'Belt zelf terug na de zomervakantie.'],
  },
  {
    language: 'sv',
    script: 'Latin',
    weight: 4,
    female: 'Åsa Björk Märta Ingrid Linnéa Solveig Ragnhild Þóra Øydis Freja Astrid Sigríður',
    male: 'Åke Björn Søren Håkon Jørgen Gunnar Þór Øystein Leif Magnús Rasmus Jón',
    last: 'Åström Sjögren Öberg Bjørnstad Sørensen Østergård Lindqvist Håkansson Jónsdóttir Ægisson Ødegaard Nyström Dahl Hellström Þorsteinsson Kjær Björkman Løvgren',
    mail: 'brevlada.example',
    cities: `
      Stockholm|Stockholms län|SE|Europe/Stockholm|59.3293|18.0686|+4684650040|2
      Göteborg|Västra Götalands län|SE|Europe/Stockholm|57.7089|11.9746|+46313900600|2
      Malmö|Skåne län|SE|Europe/Stockholm|55.605|13.0038|+46406280400|2
      Tromsø|Troms|NO|Europe/Oslo|69.6492|18.9553|+4777000|3
      København|Hovedstaden|DK|Europe/Copenhagen|55.6761|12.5683|+453000|4
      Reykjavík||IS|Atlantic/Reykjavik|64.1466|-21.9426|+354500|4`,
    trades: 'Skogsbruk Rederi Ångteknik Fiskeri Möbler Gruvdrift Hälsa Vindkraft',
    companies: ['N T AB', 'N T ApS', 'N T AS'],
    hasDomains: true,
    titles: [
      'Säljare:mid',
      'Verkställande direktör:c_suite',
      'Utvecklare:senior',
      'Platschef:manager',
      'Praktikant:intern',
    ],
    tags: ['kund', 'mässa', 'nyhetsbrev', 'återförsäljare', 'prøveperiode'],
    notes: ['Vill ha ett möte på plats i Göteborg.', 'Er fornøyd, men ønsker færre e-poster.'],
  },
  {
    language: 'pl',
    script: 'Latin',
    weight: 4,
    female: 'Małgorzata Zofia Agnieszka Żaneta Łucja Elżbieta Božena Stanisława Jadwiga Růžena',
    male: 'Łukasz Paweł Wojciech Jiří Zbigniew Stanisław Mirosław Ondřej Grzegorz Świętosław',
    last: 'Wiśniewski/Wiśniewska Kowalski/Kowalska Wójcik Żuraw Dąbrowski/Dąbrowska Łęcki/Łęcka Brzęczyszczykiewicz Dvořák/Dvořáková Źródło Novotný/Novotná Śliwa Górski/Górska Krejčí Ćwik',
    double: [0.06, '-'],
    mail: 'poczta.example',
    cities: `
      Warszawa|Mazowieckie|PL|Europe/Warsaw|52.2297|21.0122|+4822000|4
      Kraków|Małopolskie|PL|Europe/Warsaw|50.0647|19.945|+4812000|4
      Łódź|Łódzkie|PL|Europe/Warsaw|51.7592|19.456|+4842000|4
      Plzeň|Plzeňský kraj|CZ|Europe/Prague|49.7384|13.3736|+42037000|4`,
    trades: 'Hutnictwo Piekarnia Budownictwo Strojírny Mleczarnia Księgarnia Meble',
    companies: ['N T Sp. z o.o.', 'N T S.A.', 'N T s.r.o.'],
    titles: [
      'Kierownik sprzedaży:manager',
      'Prezes zarządu:c_suite',
      'Główna księgowa:senior',
      'Stażysta:intern',
      'Właściciel:owner',
    ],
    tags: ['klient', 'targi', 'stały klient', 'do oddzwonienia'],
    notes: ['Prosi o fakturę pro forma i termin dostawy.', 'Zainteresowana szkoleniem dla całego działu.'],
  },
  {
    language: 'tr',
    script: 'Latin',
    weight: 3,
    female: 'Ayşe Şule Gülşah Çiğdem İpek Zeynep Tuğba Öykü Esra Nazlı',
    male: 'Çağrı Ömer Işık Barış Şükrü Mehmet Oğuz İlker Tolga Ümit',
    last: 'Yılmaz Öztürk Çelik Şahin Kılıç Doğan Gündoğdu Işıklı Ağaoğlu Türkoğlu İnönü Kaya Aydın Bozkurt',
    mail: 'eposta.example',
    cities: `
      İstanbul|İstanbul|TR|Europe/Istanbul|41.0082|28.9784|+90212000|4
      Ankara|Ankara|TR|Europe/Istanbul|39.9334|32.8597|+90312000|4
      Diyarbakır|Diyarbakır|TR|Europe/Istanbul|37.9144|40.2306|+90412000|4`,
    trades: 'Tekstil İnşaat Gıda Çelikhane Nakliyat Yazılım',
    companies: ['N T A.Ş.', 'N T Ltd. Şti.', 'N Kardeşler T'],
    titles: [
      'Satış müdürü:manager',
      'Genel müdür:c_suite',
      'Yazılım mühendisi:senior',
      'Stajyer:intern',
      'Ortak:partner',
    ],
    tags: ['müşteri', 'fuar', 'bayi', 'yeni'],
    notes: ['Fiyat listesini Türkçe istiyor.', 'Ramazandan sonra tekrar aranacak.'],
  },
  {
    language: 'ru',
    script: 'Cyrillic',
    weight: 5,
    female:
      'Анна=anna Ольга=olga Наталья=natalya Екатерина=ekaterina Алёна=alyona Светлана=svetlana Юлия=yuliya Майя=maya Зоя=zoya Ксения=kseniya',
    male: 'Иван=ivan Пётр=pyotr Сергей=sergey Дмитрий=dmitriy Фёдор=fyodor Юрий=yuriy Алексей=aleksey Илья=ilya Андрей=andrey Эдуард=eduard',
    last: 'Иванов/Иванова=ivanov Соловьёв/Соловьёва=solovyov Щербаков/Щербакова=shcherbakov Чайковский/Чайковская=chaykovsky Жуков/Жукова=zhukov Королёв/Королёва=korolyov Достоевский/Достоевская=dostoevsky Пушкин/Пушкина=pushkin Хрущёв/Хрущёва=khrushchyov Юсупов/Юсупова=yusupov Цветаев/Цветаева=tsvetaev Ахметов/Ахметова=akhmetov Шостак=shostak Яковлев/Яковлева=yakovlev',
    mail: 'pochta.example',
    cities: `
      Алматы|Алматы|KZ|Asia/Almaty|43.222|76.8512|+7727000|4
      Астана|Астана|KZ|Asia/Almaty|51.1605|71.4704|+7717200|4
      Москва|Москва|RU|Europe/Moscow|55.7558|37.6173|+7495000|4
      Екатеринбург|Свердловская область|RU|Asia/Yekaterinburg|56.8389|60.6057|+7343000|4
      Бишкек||KG|Asia/Bishkek|42.8746|74.5698|+996312|6`,
    trades: 'Машиностроение=mashinostroenie Книги=knigi Хлеб=khleb Лесозавод=lesozavod Связь=svyaz Перевозки=perevozki',
    companies: ['ООО «N T»', 'АО «N T»', 'N и партнёры — T'],
    hasDomains: true,
    titles: [
      'Менеджер по продажам:mid',
      'Генеральный директор:c_suite',
      'Главный инженер:head',
      'Стажёр:intern',
      'Начальник отдела:manager',
    ],
    tags: ['клиент', 'выставка', 'рассылка', 'партнёр', 'новый'],
    notes: ['Просит прислать коммерческое предложение на русском языке.', 'Перезвонить в понедельник после обеда.'],
  },
  {
    language: 'uk',
    script: 'Cyrillic',
    weight: 3,
    female:
      'Оксана=oksana Їрина=yiryna Соломія=solomiia Ганна=hanna Любов=liubov Єва=yeva Марія=mariia Христина=khrystyna',
    male: 'Тарас=taras Ігор=ihor Андрій=andrii Євген=yevhen Богдан=bohdan Сергій=serhii Юрій=yurii Ґео=geo',
    last: 'Шевченко=shevchenko Кравчук=kravchuk Гончаренко=honcharenko Їжакевич=yizhakevych Ковальчук=kovalchuk Щур=shchur В’язовський/В’язовська=viazovskyi Петрів=petriv Лисенко=lysenko Прокоп’юк=prokopiuk Ґалаґан=galagan Зеленько=zelenko',
    mail: 'skrynka.example',
    cities: `
      Київ|Київ|UA|Europe/Kyiv|50.4501|30.5234|+38044000|4
      Львів|Львівська область|UA|Europe/Kyiv|49.8397|24.0297|+38032000|4
      Одеса|Одеська область|UA|Europe/Kyiv|46.4825|30.7233|+38048000|4`,
    trades: 'Агро=agro Видавництво=vydavnytstvo Суднобуд=sudnobud Програми=prohramy Пекарня=pekarnia',
    companies: ['ТОВ «N T»', 'ПрАТ «N T»'],
    titles: [
      'Керівниця відділу:manager',
      'Засновник:founder',
      'Розробниця:senior',
      'Бухгалтер:mid',
      'Молодший юрист:junior',
    ],
    tags: ['клієнт', 'виставка', 'розсилка', 'постійний'],
    notes: ['Цікавиться інтеграцією з обліковою системою.', 'Домовилися про зустріч у Львові.'],
  },
  {
    language: 'el',
    script: 'Greek',
    weight: 3,
    female:
      'Ελένη=eleni Μαρία=maria Σοφία=sofia Κωνσταντίνα=konstantina Άννα=anna Χρυσάνθη=chrysanthi Ζωή=zoi Όλγα=olga',
    male: 'Γιώργος=giorgos Νίκος=nikos Αχιλλέας=achilleas Θεόδωρος=theodoros Ιάσονας=iasonas Παύλος=pavlos Ηλίας=ilias Άγγελος=angelos',
    last: 'Παπαδόπουλος/Παπαδοπούλου=papadopoulos Νικολάου=nikolaou Γεωργίου=georgiou Καραγιάννης/Καραγιάννη=karagiannis Οικονόμου=oikonomou Αλεξίου=alexiou Χατζηδάκης/Χατζηδάκη=chatzidakis Ξανθόπουλος/Ξανθοπούλου=xanthopoulos Ψαράς/Ψαρά=psaras Βενιζέλος/Βενιζέλου=venizelos',
    mail: 'tachydromeio.example',
    cities: `
      Αθήνα|Αττική|GR|Europe/Athens|37.9838|23.7275|+30210000|4
      Θεσσαλονίκη|Κεντρική Μακεδονία|GR|Europe/Athens|40.6401|22.9444|+302310000|3
      Λευκωσία||CY|Asia/Nicosia|35.1856|33.3823|+35722000|3`,
    trades: 'Ναυτιλία=naftilia Ελιές=elies Τουρισμός=tourismos Εκδόσεις=ekdoseis Κεραμική=keramiki',
    companies: ['N T Α.Ε.', 'Αφοί N T', 'N T Ο.Ε.'],
    hasDomains: true,
    titles: [
      'Υπεύθυνη πωλήσεων:manager',
      'Διευθύνων σύμβουλος:c_suite',
      'Μηχανικός:senior',
      'Ιδιοκτήτης:owner',
      'Βοηθός:entry',
    ],
    tags: ['πελάτης', 'έκθεση', 'συνεργάτης', 'ενημέρωση'],
    notes: ['Ζητά προσφορά για τρία καταστήματα.', 'Θα μιλήσουμε ξανά μετά τις διακοπές.'],
  },
]
