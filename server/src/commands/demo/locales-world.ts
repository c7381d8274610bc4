import type { LocaleText } from './locale.ts'

/** Languages of the Near East, Asia and beyond, each in its own script, and Latin letters of Vietnam and Indonesia. */
export const worldly: readonly LocaleText[] = [
  {
    language: 'ar',
    script: 'Arabic',
    weight: 5,
    female: 'فاطمة=fatima عائشة=aisha ليلى=layla نور=nour مريم=maryam هدى=huda سلمى=salma رانيا=rania',
    male: 'محمد=mohammed أحمد=ahmed خالد=khaled يوسف=youssef عمر=omar إبراهيم=ibrahim حسن=hassan طارق=tariq',
    last: 'الأحمد=alahmad المصري=almasri حداد=haddad الشريف=alsharif منصور=mansour عبد_الله=abdullah النجار=alnajjar الخطيب=alkhatib بن_سالم=binsalem القحطاني=alqahtani درويش=darwish الزهراني=alzahrani',
    mail: 'barid.example',
    cities: `
      القاهرة|القاهرة|EG|Africa/Cairo|30.0444|31.2357|+202000|5
      الرياض|الرياض|SA|Asia/Riyadh|24.7136|46.6753|+96611000|4
      دبي|دبي|AE|Asia/Dubai|25.2048|55.2708|+9714000|4
      عمّان|عمّان|JO|Asia/Amman|31.9454|35.9284|+9626000|4
      الدار البيضاء|الدار البيضاء سطات|MA|Africa/Casablanca|33.5731|-7.5898|+212522000|3`,
    trades: 'للتجارة=trading للمقاولات=contracting للتقنية=taqnia للأغذية=aghthia للعقارات=aqarat',
    companies: ['شركة N T', 'مؤسسة N T', 'مجموعة N T'],
    titles: ['مدير المبيعات:manager', 'المدير التنفيذي:c_suite', 'مهندسة برمجيات:senior', 'محاسب:mid', 'متدربة:intern'],
    tags: ['عميل', 'معرض', 'شريك', 'نشرة'],
    notes: ['طلب عرض سعر باللغة العربية.', 'نتصل به بعد العيد لتأكيد الموعد.'],
  },
  {
    language: 'he',
    script: 'Hebrew',
    weight: 2,
    female: 'נועה=noa תמר=tamar יעל=yael שירה=shira רבקה=rivka אביגיל=avigail',
    male: 'דוד=david יוסף=yosef אורי=uri איתי=itai משה=moshe נועם=noam',
    last: 'כהן=cohen לוי=levi מזרחי=mizrahi פרץ=peretz ביטון=biton אברהם=avraham פרידמן=friedman שפירא=shapira בן־דוד=bendavid רוזנברג=rozenberg',
    double: [0.05, '-'],
    mail: 'doar.example',
    cities: `
      תל אביב|תל אביב|IL|Asia/Jerusalem|32.0853|34.7818|+9723000|4
      ירושלים|ירושלים|IL|Asia/Jerusalem|31.7683|35.2137|+9722000|4
      חיפה|חיפה|IL|Asia/Jerusalem|32.794|34.9896|+9724000|4`,
    trades: 'טכנולוגיות=technologiot בנייה=bniya מזון=mazon ספרים=sfarim',
    companies: ['N T בע״מ', 'אחים N T'],
    titles: ['מנהלת מכירות:manager', 'מנכ״ל:c_suite', 'מפתח תוכנה:senior', 'שותפה:partner', 'מתמחה:intern'],
    tags: ['לקוח', 'תערוכה', 'שותף'],
    notes: ['מבקשת הצעת מחיר עד סוף השבוע.', 'לתאם שיחה אחרי החגים.'],
  },
  {
    language: 'zh',
    script: 'Han',
    weight: 7,
    female: '芳=fang 秀英=xiuying 娜=na 敏=min 静=jing 丽华=lihua 婷婷=tingting 雅琪=yaqi',
    male: '伟=wei 强=qiang 磊=lei 志明=zhiming 俊杰=junjie 浩然=haoran 建国=jianguo 宗翰=zonghan',
    last: '王=wang 李=li 张=zhang 刘=liu 陈=chen 杨=yang 黄=huang 赵=zhao 吴=wu 周=zhou 欧阳=ouyang 司马=sima 林=lin 郭=guo 诸葛=zhuge 徐=xu',
    familyFirst: '',
    mail: 'youxiang.example',
    cities: `
      北京|北京市|CN|Asia/Shanghai|39.9042|116.4074|+8610000|5
      上海|上海市|CN|Asia/Shanghai|31.2304|121.4737|+8621000|5
      深圳|广东省|CN|Asia/Shanghai|22.5431|114.0579|+86755000|5
      台北|台北市|TW|Asia/Taipei|25.033|121.5654|+8862000|5
      香港||HK|Asia/Hong_Kong|22.3193|114.1694|+852000|5
      新加坡||SG|Asia/Singapore|1.3521|103.8198|+65600|5`,
    trades: '科技=keji 贸易=maoyi 食品=shipin 机械=jixie 出版社=chubanshe 物流=wuliu',
    companies: ['NT有限公司', 'NT集团', 'NT股份有限公司'],
    hasDomains: true,
    titles: [
      '销售经理:manager',
      '总经理:c_suite',
      '高级工程师:senior',
      '采购主管:head',
      '实习生:intern',
      '创始人:founder',
    ],
    tags: ['客户', '展会', '合作伙伴', '新闻通讯', '重点'],
    notes: ['希望下周收到报价,需要中文合同。', '在展会上认识,对培训感兴趣。'],
  },
  {
    language: 'ja',
    script: 'Japanese',
    weight: 5,
    female: 'さくら=sakura 葵=aoi 美咲=misaki 陽子=yoko カレン=karen 結衣=yui 恵美=emi みゆき=miyuki',
    male: '健太=kenta 大輔=daisuke 翔=sho 太郎=taro 直樹=naoki 蓮=ren 一郎=ichiro 悠人=yuto',
    last: '佐藤=sato 鈴木=suzuki 高橋=takahashi 田中=tanaka 伊藤=ito 渡辺=watanabe 山本=yamamoto 中村=nakamura 小林=kobayashi 齋藤=saito 長谷川=hasegawa 五十嵐=igarashi 髙木=takagi 勅使河原=teshigawara',
    familyFirst: ' ',
    mail: 'yubin.example',
    cities: `
      東京|東京都|JP|Asia/Tokyo|35.6762|139.6503|+813000|5
      大阪|大阪府|JP|Asia/Tokyo|34.6937|135.5023|+816000|5
      札幌|北海道|JP|Asia/Tokyo|43.0618|141.3545|+8111000|4
      福岡|福岡県|JP|Asia/Tokyo|33.5904|130.4017|+8192000|4`,
    trades: '製作所=seisakusho 商店=shoten 電機=denki 酒造=shuzo システム=shisutemu 出版=shuppan',
    companies: ['株式会社NT', 'NT株式会社', '有限会社NT'],
    hasDomains: true,
    titles: ['営業部長:director', '代表取締役:c_suite', 'エンジニア:senior', '課長:manager', '新入社員:entry'],
    tags: ['顧客', '展示会', 'メルマガ', '代理店', '要フォロー'],
    notes: ['来月までに見積書が必要とのこと。', '展示会でお会いした。資料を郵送する。'],
  },
  {
    language: 'ko',
    script: 'Korean',
    weight: 3,
    female: '지은=jieun 서연=seoyeon 하은=haeun 민지=minji 수빈=subin 유진=yujin',
    male: '민준=minjun 서준=seojun 도윤=doyun 지훈=jihun 현우=hyunwoo 성민=seongmin',
    last: '김=kim 이=lee 박=park 최=choi 정=jung 강=kang 조=cho 윤=yoon 장=jang 임=lim 남궁=namgung 황보=hwangbo',
    familyFirst: '',
    mail: 'upyeon.example',
    cities: `
      서울|서울특별시|KR|Asia/Seoul|37.5665|126.978|+822000|5
      부산|부산광역시|KR|Asia/Seoul|35.1796|129.0756|+8251000|4
      대전|대전광역시|KR|Asia/Seoul|36.3504|127.3845|+8242000|4`,
    trades: '전자=jeonja 물산=mulsan 건설=geonseol 식품=sikpum 게임즈=geimjeu',
    companies: ['(주)NT', 'NT 주식회사', 'NT그룹'],
    hasDomains: true,
    titles: ['영업 팀장:manager', '대표이사:c_suite', '선임 연구원:senior', '인턴:intern', '이사:director'],
    tags: ['고객', '박람회', '협력사', '소식지'],
    notes: ['다음 주에 견적서를 보내 달라고 함.', '세미나에서 만남. 데모 요청.'],
  },
  {
    language: 'hi',
    script: 'Devanagari',
    weight: 4,
    female: 'प्रिया=priya अनीता=anita सुनीता=sunita दीपिका=deepika कविता=kavita श्रुति=shruti मीरा=meera ऋचा=richa',
    male: 'राहुल=rahul अमित=amit विक्रम=vikram संजय=sanjay कृष्ण=krishna अर्जुन=arjun मोहन=mohan ईशान=ishaan',
    last: 'शर्मा=sharma गुप्ता=gupta सिंह=singh वर्मा=verma मिश्रा=mishra अग्रवाल=agrawal जोशी=joshi त्रिपाठी=tripathi चौधरी=chaudhary श्रीवास्तव=shrivastava पाण्डेय=pandey',
    mononyms: 0.04,
    mail: 'daak.example',
    cities: `
      दिल्ली|दिल्ली|IN|Asia/Kolkata|28.6139|77.209|+9111000|5
      मुंबई|महाराष्ट्र|IN|Asia/Kolkata|19.076|72.8777|+9122000|5
      जयपुर|राजस्थान|IN|Asia/Kolkata|26.9124|75.7873|+91141000|4
      काठमाडौँ|बागमती|NP|Asia/Kathmandu|27.7172|85.324|+9771000|4`,
    trades: 'उद्योग=udyog वस्त्र=vastra मसाले=masale प्रकाशन=prakashan ऊर्जा=oorja',
    companies: ['N T प्राइवेट लिमिटेड', 'N एंड संस T', 'N T लिमिटेड'],
    titles: [
      'बिक्री प्रबंधक:manager',
      'मुख्य कार्यकारी अधिकारी:c_suite',
      'वरिष्ठ अभियंता:senior',
      'प्रशिक्षु:intern',
      'साझेदार:partner',
    ],
    tags: ['ग्राहक', 'मेला', 'सहयोगी'],
    notes: ['हिन्दी में कोटेशन चाहिए।', 'दिवाली के बाद फिर से बात करनी है।'],
  },
  {
    language: 'th',
    script: 'Thai',
    weight: 2,
    female: 'สมหญิง=somying มาลี=malee วิภา=wipha กนกวรรณ=kanokwan ปราณี=pranee อรทัย=orathai',
    male: 'สมชาย=somchai ประเสริฐ=prasert อนุชา=anucha ธนา=thana ณัฐพล=nattaphon วีระ=wira',
    last: 'ศรีสุข=srisuk วงศ์ใหญ่=wongyai แสงทอง=saengthong รัตนกุล=rattanakul จันทร์เพ็ญ=chanphen บุญมี=boonmee ทองดี=thongdee สุวรรณ=suwan',
    mail: 'praisani.example',
    cities: `
      กรุงเทพมหานคร|กรุงเทพมหานคร|TH|Asia/Bangkok|13.7563|100.5018|+662000|4
      เชียงใหม่|เชียงใหม่|TH|Asia/Bangkok|18.7883|98.9853|+6653000|3`,
    trades: 'การค้า=kankha อาหาร=ahan ก่อสร้าง=kosang ท่องเที่ยว=thongthiao',
    companies: ['บริษัท NT จำกัด', 'ห้างหุ้นส่วน NT'],
    titles: ['ผู้จัดการฝ่ายขาย:manager', 'กรรมการผู้จัดการ:c_suite', 'วิศวกรอาวุโส:senior', 'เจ้าของกิจการ:owner'],
    tags: ['ลูกค้า', 'งานแสดงสินค้า', 'ตัวแทน'],
    notes: ['ขอใบเสนอราคาเป็นภาษาไทย', 'นัดคุยอีกครั้งหลังสงกรานต์'],
  },
  {
    language: 'vi',
    script: 'Latin',
    weight: 3,
    female: 'Thị_Hương=huong Ngọc_Ánh=ngocanh Thùy_Dung=thuydung Mỹ_Linh=mylinh Bích_Phượng=bichphuong Yến=yen',
    male: 'Văn_Đức=vanduc Quốc_Bảo=quocbao Hữu_Phước=huuphuoc Minh_Tuấn=minhtuan Đình_Trọng=dinhtrong Thắng=thang',
    last: 'Nguyễn=nguyen Trần=tran Lê=le Phạm=pham Huỳnh=huynh Võ=vo Đặng=dang Bùi=bui Đỗ=do Ngô=ngo',
    familyFirst: ' ',
    mail: 'hopthu.example',
    cities: `
      Hà Nội|Hà Nội|VN|Asia/Ho_Chi_Minh|21.0278|105.8342|+8424000|5
      Thành phố Hồ Chí Minh|Thành phố Hồ Chí Minh|VN|Asia/Ho_Chi_Minh|10.8231|106.6297|+8428000|5
      Đà Nẵng|Đà Nẵng|VN|Asia/Ho_Chi_Minh|16.0544|108.2022|+84236000|4`,
    trades: 'Thủy_Sản=thuysan Dệt_May=detmay Xây_Dựng=xaydung Cà_Phê=caphe',
    companies: ['Công ty TNHH N T', 'Công ty Cổ phần N T'],
    titles: ['Trưởng phòng kinh doanh:manager', 'Giám đốc:c_suite', 'Kỹ sư:senior', 'Thực tập sinh:intern'],
    tags: ['khách hàng', 'hội chợ', 'đối tác'],
    notes: ['Cần báo giá trước thứ Sáu.', 'Muốn xem bản dùng thử bằng tiếng Việt.'],
  },
  {
    language: 'id',
    script: 'Latin',
    weight: 4,
    female: 'Dewi Putri Sri Ratna Wulandari Nyoman Kartika Fitri Indah Suryani',
    male: 'Budi Suharto Agus Wayan Joko Bambang Eko Rizky Slamet Dwi',
    last: 'Santoso Wijaya Halim Nasution Siregar Hidayat Kusuma Pratama Lestari Gunawan Simanjuntak Saputra',
    mononyms: 0.35,
    mail: 'surat.example',
    cities: `
      Jakarta|DKI Jakarta|ID|Asia/Jakarta|-6.2088|106.8456|+6221000|5
      Surabaya|Jawa Timur|ID|Asia/Jakarta|-7.2575|112.7521|+6231000|4
      Makassar|Sulawesi Selatan|ID|Asia/Makassar|-5.1477|119.4327|+62411000|4
      Kuala Lumpur|Kuala Lumpur|MY|Asia/Kuala_Lumpur|3.139|101.6869|+603000|5`,
    trades: 'Rempah Perkapalan Kelapa Batik Furnitur',
    companies: ['PT N T', 'CV N T', 'PT T N Tbk'],
    titles: [
      'Manajer penjualan:manager',
      'Direktur utama:c_suite',
      'Insinyur:senior',
      'Magang:intern',
      'Pemilik:owner',
    ],
    tags: ['pelanggan', 'pameran', 'mitra'],
    notes: ['Minta penawaran harga dalam rupiah.', 'Akan dihubungi lagi setelah Lebaran.'],
  },
]
