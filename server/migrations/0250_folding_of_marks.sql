-- Folds what people see as equal and type in different ways: typographic apostrophes, quotation marks and hyphens, the
-- marks and letter forms of Arabic (as Lucene's ArabicNormalizer) and Hebrew, and characters that nobody sees. Japanese,
-- Thai and Indic letters and vowel signs stay as they are.
--
-- Maintenance renews what is stored (`server/src/platform/resource/text-renewal.ts`), and 0251 the indexes.
create or replace function fold(value text) returns text language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(value) = char_length(value) then
    return translate(lower(value collate "C"), '`', '''');
  end if;
  -- An acute accent alone would decompose to a space and a mark.
  value := normalize(translate(value, U&'\00b4\1fbd\1fbf\1ffd', ''''''''''), NFKD);
  value := translate(lower(regexp_replace(value, '[\u0300-\u036f\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]', '', 'g') collate "C"), '`', '''');
  if octet_length(value) = char_length(value) then
    return value;
  end if;
  if value ~ '[\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\ua78c\u055a\u05f3\u201c\u201d\u201e\u201f\u05f4\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u05be\u058a]' then
    value := translate(value, U&'\2018\2019\201a\201b\2032\02b9\02bb\02bc\02bd\02be\02bf\02c8\a78c\055a\05f3\201c\201d\201e\201f\05f4\2010\2011\2012\2013\2014\2015\2043\2212\05be\058a', '''''''''''''''''''''''''''''''"""""----------');
  end if;
  if value ~ '[\u00c0-\u024f\u1e9e]' then
    value := translate(value, 'ØøÐðĐđŁłĦħŦŧıŊƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎ', 'ooddddllhhttiŋɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏ');
    value := replace(replace(replace(replace(value, 'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'Æ', 'ae');
    value := replace(replace(replace(replace(value, 'œ', 'oe'), 'Œ', 'oe'), 'þ', 'th'), 'Þ', 'th');
  end if;
  if value ~ '[\u0370-\u03ff]' then
    value := translate(value, 'ͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿς', 'ͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽσ');
  end if;
  if value ~ '[\u0400-\u052f]' then
    value := translate(value, 'ЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮ', 'ђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯ');
  end if;
  if value ~ '[\u0531-\u0556]' then
    value := translate(value, 'ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ', 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ');
  end if;
  if value ~ '[\u0591-\u05c7]' then
    value := regexp_replace(value, '[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]', '', 'g');
  end if;
  if value ~ '[\u0600-\u06ff]' then
    value := regexp_replace(value, '[\u0640\u064b-\u0652\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]', '', 'g');
    value := regexp_replace(value, '\u0627[\u0653-\u0655]', U&'\0627', 'g');
    value := translate(value, '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹ٱىیةک', '01234567890123456789اييهك');
  end if;
  return normalize(value, NFC);
end
$$;
