-- What every table builds on: a trusted extension, and the functions that make text comparable.

create extension if not exists pg_trgm;

-- The one fold for needle and haystack alike: case and accents away, the same on every engine, operating system and
-- locale. lower() and unaccent() are not: they follow the collation and a rules file, so an upgrade would break indexes.
-- Covers the scripts that have case and are in use (Latin, Greek, Cyrillic, Armenian); other letters stay as they are.
-- plpgsql on purpose: a function that is inlined would put these tables into every plan.
create function fold(value text) returns text language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(value) = char_length(value) then
    return lower(value collate "C");
  end if;
  value := lower(regexp_replace(normalize(value, NFKD), '[\u0300-\u036f]', '', 'g') collate "C");
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
  return normalize(value, NFC);
end
$$;

-- A needle for LIKE: folded first, then its wildcards made literal, because folding can make them (U+FF05 is a percent sign).
create function like_literal(value text) returns text language sql immutable strict parallel safe
  return replace(replace(replace(fold(value), '\', '\\'), '%', '\%'), '_', '\_');

-- What lists sort strings by. Cut, because a btree refuses an entry of more than a third of a page.
create function sort_key(value text) returns text language sql immutable strict parallel safe
  return left(fold(value), 200);

-- The tags as one text, in code-point order: what `tags` sorts by.
create function tags_text(tags text[]) returns text language sql immutable strict parallel safe
  return (select coalesce(string_agg(tag, ',' order by tag collate "C"), '') from unnest(tags) tag);

-- The tags as lines, for the search column: no word of a query matches across two of them.
create function tag_lines(tags text[]) returns text language sql immutable strict parallel safe
  return (select coalesce(string_agg(tag, E'\n'), '') from unnest(tags) tag);

-- A text of a custom property as an instant, or null when it is none: the same forms that a filter's value may have, and
-- never an error. Immutable, because the text that is cast names its zone.
create function instant(value text) returns timestamptz language plpgsql immutable strict parallel safe as $$
declare
  part text[] := regexp_match(value,
    '^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?(Z|[+-](\d{2}):?(\d{2}))?)?$');
  year integer;
  month integer;
begin
  if part is null then
    return null;
  end if;
  year := part[1];
  month := part[2];
  if year < 1 or month not between 1 and 12 or part[3]::integer not between 1 and extract(day from make_date(year, month, 1) + interval '1 month - 1 day')
    or part[4]::integer > 23 or part[5]::integer > 59 or part[6]::integer > 59 or part[8]::integer > 15 or part[9]::integer > 59 then
    return null;
  end if;
  return (value || case when part[4] is null then 'T00:00Z' when part[7] is null then 'Z' else '' end)::timestamptz;
end
$$;
