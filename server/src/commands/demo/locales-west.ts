import type { LocaleText } from './locale.ts'

/** Languages of Western Europe and of the Americas. */
export const western: readonly LocaleText[] = [
  {
    language: 'en',
    script: 'Latin',
    weight: 36,
    female:
      'Emma Olivia Grace Chloe Hannah Sophie Zoë Niamh Siobhán Aoife Megan Charlotte Amelia Ruby Jasmine Renée Kezia Maya',
    male: 'Oliver Jack Harry Liam Noah Ethan Seán Callum Rhys Marcus Jamal Theo Oscar Finn Patrick D’Andre Malik Henry',
    last: "Smith Jones O'Connor O’Brien D'Angelo MacDonald Taylor Brown Wilson Evans Walker Wright Robinson Thompson Hughes Campbell Murphy Kelly St._John Okafor Patel Adeyemi Washington Rivera Brontë Fitzgerald McCarthy Bennett Whitfield Ashworth",
    double: [0.05, '-'],
    mail: 'letterbox.example',
    cities: `
      London|England|GB|Europe/London|51.5074|-0.1278|+442079460|3
      Manchester|England|GB|Europe/London|53.4808|-2.2426|+441614960|3
      Edinburgh|Scotland|GB|Europe/London|55.9533|-3.1883|+441314960|3
      Dublin|Leinster|IE|Europe/Dublin|53.3498|-6.2603|+3531000|4
      New York|New York|US|America/New_York|40.7128|-74.006|+121255501|2
      Chicago|Illinois|US|America/Chicago|41.8781|-87.6298|+131255501|2
      Denver|Colorado|US|America/Denver|39.7392|-104.9903|+130355501|2
      San Francisco|California|US|America/Los_Angeles|37.7749|-122.4194|+141555501|2
      Toronto|Ontario|CA|America/Toronto|43.6532|-79.3832|+141655501|2
      Sydney|New South Wales|AU|Australia/Sydney|-33.8688|151.2093|+6125550|4
      Auckland|Auckland|NZ|Pacific/Auckland|-36.8509|174.7645|+649000|4`,
    trades: 'Logistics Robotics Foods Energy Analytics Textiles Media Health Capital Outfitters Aviation Software',
    companies: ['N T Ltd', 'N T Inc.', 'N T', 'The N T Company'],
    titles: [
      'Account Executive:mid',
      'Software Engineer:senior',
      'Head of Operations:head',
      'Marketing Manager:manager',
      'Chief Financial Officer:c_suite',
      'VP Sales:vp',
      'Intern:intern',
      'Founder & CEO:founder',
      'Procurement Director:director',
      'Junior Designer:junior',
    ],
    tags: ['newsletter', 'customer', 'lead', 'partner', 'webinar', 'vip', 'trial', 'press', 'churn-risk', 'conference'],
    notes: [
      'Asked for a quote for twelve seats; wants to hear back before the end of the month.',
      'Met at the spring conference.\nInterested in the partner programme, less so in training.',
      'Prefers a call in the afternoon. Don’t email on Fridays.',
    ],
  },
  {
    language: 'de',
    script: 'Latin',
    weight: 11,
    female: 'Anna Lena Jürgine Käthe Sabine Ute Friederike Mia Hannelore Zoé Gesa Annegret Marlene Ronja Ulrike Bärbel',
    male: 'Jürgen Björn Lukas Felix Götz Matthias Jörg Emil Thorsten Konstantin Ansgar Malte Hans-Peter Sönke Uwe Ludwig',
    last: 'Müller Schmidt Schröder Weiß Groß Köhler Jäger Krüger Böhm Schäfer Fuchs Neumann Braun Hofmann Lehmann Vogt Straßer von_Bülow Zimmermann Pfeiffer Günther Kästner Öztürk Stein Winkler Huber Bauer Großmann Ackermann Wolff',
    double: [0.09, '-'],
    mail: 'briefkasten.example',
    cities: `
      Berlin|Berlin|DE|Europe/Berlin|52.52|13.405|+493023125|3
      Hamburg|Hamburg|DE|Europe/Berlin|53.5511|9.9937|+494066969|3
      München|Bayern|DE|Europe/Berlin|48.1351|11.582|+498999998|3
      Köln|Nordrhein-Westfalen|DE|Europe/Berlin|50.9375|6.9603|+492214710|3
      Frankfurt am Main|Hessen|DE|Europe/Berlin|50.1109|8.6821|+496990009|3
      Wien|Wien|AT|Europe/Vienna|48.2082|16.3738|+431000|4
      Zürich|Zürich|CH|Europe/Zurich|47.3769|8.5417|+4144000|4`,
    trades:
      'Maschinenbau Spedition Anlagen Werkzeuge Verlag Brauerei Optik Holzbau Möbelwerke Elektrotechnik Pumpen Prüftechnik',
    companies: ['N T GmbH', 'N T AG', 'N & Söhne T', 'N T KG'],
    hasDomains: true,
    titles: [
      'Vertriebsleitung:head',
      'Geschäftsführung:c_suite',
      'Einkauf:mid',
      'Werkstudium:intern',
      'Prokura:executive',
      'Entwicklung:senior',
      'Teamleitung Service:manager',
      'Inhaber:owner',
    ],
    tags: ['Kunde', 'Messe Hannover', 'Interessent', 'Rundbrief', 'Händler', 'Prüfung', 'VIP'],
    notes: [
      'Möchte ein Angebot über 40 Stück, Lieferung bis Ende des Quartals.',
      'Auf der Messe getroffen; Rückruf nach den Osterferien vereinbart.',
      'Rechnung bitte immer an die Zentrale in Köln.',
    ],
  },
  {
    language: 'fr',
    script: 'Latin',
    weight: 8,
    female: 'Zoé Chloé Élise Inès Anaïs Maëlys Françoise Hélène Noémie Gaëlle Aurélie Marie-Claude Solène Océane',
    male: 'Loïc François Étienne Jérôme Rémi Gaël Théo Benoît Mathéo Jean-Pierre Aurélien Cédric Noël Hervé',
    last: 'Lefèvre Dubois Bérard Gauthier L’Hôpital D’Aubigné Mercier Lévêque Fontaine Chevalier Rousseau Le_Goff Desprès Benoist Garçon Faure Marchand Boyer de_La_Tour Traoré Diallo Ben_Ali Pénot Guérin Hébert Tremblay',
    double: [0.06, '-'],
    mail: 'courriel.example',
    cities: `
      Paris|Île-de-France|FR|Europe/Paris|48.8566|2.3522|+3319900|4
      Lyon|Auvergne-Rhône-Alpes|FR|Europe/Paris|45.764|4.8357|+3346171|4
      Marseille|Provence-Alpes-Côte d’Azur|FR|Europe/Paris|43.2965|5.3698|+3346171|4
      Genève|Genève|CH|Europe/Zurich|46.2044|6.1432|+4122000|4
      Bruxelles|Bruxelles-Capitale|BE|Europe/Brussels|50.8503|4.3517|+322000|4
      Montréal|Québec|CA|America/Toronto|45.5017|-73.5673|+151455501|2
      Dakar|Dakar|SN|Africa/Dakar|14.7167|-17.4677|+2213380|5`,
    trades: 'Pâtisserie Ingénierie Éditions Parfumerie Transports Ateliers Conseil Verrerie Maroquinerie Énergies',
    companies: ['N T SARL', 'N T SA', 'Maison N T', 'N & Fils T'],
    hasDomains: true,
    titles: [
      'Responsable commercial:manager',
      'Directrice générale:c_suite',
      'Chargé de clientèle:mid',
      'Ingénieur d’études:senior',
      'Stagiaire:intern',
      'Associé:partner',
      'Directeur des achats:director',
    ],
    tags: ['client', 'prospect', 'salon de Lyon', 'abonné', 'fidélité', 'à relancer'],
    notes: [
      'À rappeler après la rentrée, budget validé pour l’année prochaine.',
      'Souhaite une démonstration en français pour son équipe.',
    ],
  },
  {
    language: 'es',
    script: 'Latin',
    weight: 9,
    female:
      'Lucía Sofía María_José Inés Begoña Noelia Ángela Ximena Rocío Itziar Nuria Belén Yésica Consuelo Paloma Débora',
    male: 'José Andrés Íñigo Ramón Joaquín Martín Sebastián Ángel Óscar Rubén Iker Nicolás Jesús Héctor Álvaro Germán',
    last: 'García Muñoz Núñez Peña Ibáñez Rodríguez Fernández Ordóñez de_la_Cruz Gómez Sánchez Márquez Vázquez Quiñones Herrera Castillo Salazar Rivas Cortés Aguirre Etxeberria Bolaños Ríos Zapata Moreno Iturralde',
    double: [0.72, ' '],
    mail: 'correo.example',
    cities: `
      Madrid|Comunidad de Madrid|ES|Europe/Madrid|40.4168|-3.7038|+3491000|4
      Barcelona|Cataluña|ES|Europe/Madrid|41.3851|2.1734|+3493000|4
      Sevilla|Andalucía|ES|Europe/Madrid|37.3891|-5.9845|+3495000|4
      Ciudad de México|Ciudad de México|MX|America/Mexico_City|19.4326|-99.1332|+5255000|5
      Bogotá|Bogotá|CO|America/Bogota|4.711|-74.0721|+576010|6
      Buenos Aires|Buenos Aires|AR|America/Argentina/Buenos_Aires|-34.6037|-58.3816|+5411000|5
      Santiago|Región Metropolitana|CL|America/Santiago|-33.4489|-70.6693|+562000|6
      Lima|Lima|PE|America/Lima|-12.0464|-77.0428|+511000|4`,
    trades: 'Cerámica Viñedos Construcciones Calzados Turismo Aceites Ferretería Envases Cafetería Bodegas',
    companies: ['N T S.L.', 'N T S.A.', 'Hermanos N T', 'T N'],
    hasDomains: true,
    titles: [
      'Gerente de ventas:manager',
      'Directora de compras:director',
      'Ingeniero de sistemas:senior',
      'Asistente:entry',
      'Socio fundador:founder',
      'Jefe de obra:head',
      'Analista:mid',
    ],
    tags: ['cliente', 'posible cliente', 'feria', 'boletín', 'distribuidor', 'señal'],
    notes: [
      'Pide catálogo y precios con IVA; llamar por la mañana.',
      'Ya compró el año pasado. Está contenta con el servicio.',
    ],
  },
  {
    language: 'pt',
    script: 'Latin',
    weight: 6,
    female: 'Conceição Inês Beatriz Tânia Luísa Mônica Vitória Thaís Letícia Graça Júlia Raíssa',
    male: 'João Antônio Luís Caíque Estêvão Márcio Vinícius Sérgio Tomás Flávio Ubiratã Gonçalo',
    last: 'Silva Conceição Araújo Magalhães Guimarães Simões Falcão Brandão dos_Santos Gusmão Antunes Carvalho Assunção Queirós Leitão Sampaio Nóbrega Vilaça Teixeira Pádua',
    double: [0.45, ' '],
    mail: 'correio.example',
    cities: `
      Lisboa|Lisboa|PT|Europe/Lisbon|38.7223|-9.1393|+35121000|4
      Porto|Porto|PT|Europe/Lisbon|41.1579|-8.6291|+35122000|4
      São Paulo|São Paulo|BR|America/Sao_Paulo|-23.5505|-46.6333|+5511000|5
      Recife|Pernambuco|BR|America/Recife|-8.0476|-34.877|+5581000|5
      Rio de Janeiro|Rio de Janeiro|BR|America/Sao_Paulo|-22.9068|-43.1729|+5521000|5
      Luanda|Luanda|AO|Africa/Luanda|-8.839|13.2894|+244222|6`,
    trades: 'Cortiças Conservas Calçado Cafés Serviços Laticínios Cerâmicas Mineração Confecções',
    companies: ['N T Lda.', 'N T Ltda.', 'T N S.A.', 'Irmãos N T'],
    hasDomains: true,
    titles: [
      'Gestora de contas:manager',
      'Diretor financeiro:c_suite',
      'Técnica de vendas:mid',
      'Estagiário:intern',
      'Programadora:senior',
      'Sócia:partner',
    ],
    tags: ['cliente', 'indicação', 'feira', 'promoção', 'parceiro'],
    notes: [
      'Quer receber a proposta por escrito até sexta-feira.',
      'Não tem urgência; voltar a falar no próximo trimestre.',
    ],
  },
  {
    language: 'it',
    script: 'Latin',
    weight: 5,
    female: 'Niccolina Noemi Giulia Chiara Benedetta Ginevra Azzurra Maria_Sole Fiammetta Letizia Rosalía Mirella',
    male: 'Niccolò Giosuè Matteo Lorenzo Nicolò-Maria Dante Tommaso Ruggero Fabrizio Gianluca Achille Ettore',
    last: 'Dell’Acqua D’Amico Rossi Forlì Nicolò De_Luca Bianchi Cantù Ferri Lo_Presti Sforza Mancini Gentile Donà Colombo Barbieri Ricci Galli Marchesi Pavanà',
    mail: 'posta.example',
    cities: `
      Roma|Lazio|IT|Europe/Rome|41.9028|12.4964|+3906000|5
      Milano|Lombardia|IT|Europe/Rome|45.4642|9.19|+3902000|5
      Torino|Piemonte|IT|Europe/Rome|45.0703|7.6869|+39011000|5
      Forlì|Emilia-Romagna|IT|Europe/Rome|44.2227|12.0407|+390543000|4
      Lugano|Ticino|CH|Europe/Zurich|46.0037|8.9511|+4191000|4`,
    trades: 'Tessuti Officine Pasticceria Marmi Macchine Cantine Arredi Legnami',
    companies: ['N T S.r.l.', 'N T S.p.A.', 'Fratelli N T'],
    titles: [
      'Responsabile acquisti:manager',
      'Amministratore delegato:c_suite',
      'Progettista:senior',
      'Titolare:owner',
      'Addetta vendite:entry',
    ],
    tags: ['cliente', 'fiera', 'fornitore', 'novità', 'da richiamare'],
    notes: ['Vuole visitare lo stabilimento prima di firmare.', 'Preferisce essere contattato di mattina.'],
  },
]
