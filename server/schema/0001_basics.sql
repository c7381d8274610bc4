-- What all tables build on: the functions that compare texts and times, and the tables of the installation itself.
-- `schema_migrations` names the applied files of this folder. It is created first (platform/database/migrate.ts).

create extension if not exists pg_trgm;

-- Makes texts comparable, in searches and in what they look into: without case, accents and invisible characters, and
-- with one form of what people see as equal and type in different ways, such as apostrophes, quotation marks, hyphens,
-- and the letter forms of Arabic (as Lucene's ArabicNormalizer) and Hebrew. Japanese, Thai and Indic vowel signs stay.
-- The result is the same on every engine, operating system and locale: lower() and unaccent() depend on the collation
-- and a rules file, so an upgrade would break indexes. plpgsql, because an inlined function would put the lists of
-- letters into every plan. Most names are plain letters once their marks are removed, and end there.
create function fold(value text) returns text language plpgsql immutable strict parallel safe as $$
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

-- What lists sort texts by. Cut, because a B-tree refuses an entry of more than a third of a page.
create function sort_key(value text) returns text language sql immutable strict parallel safe
  return left(fold(value), 200);

-- A search term for LIKE. Folded first, because folding can create wildcards (U+FF05 becomes a percent sign).
create function like_literal(value text) returns text language sql immutable strict parallel safe
  return replace(replace(replace(fold(value), '\', '\\'), '%', '\%'), '_', '\_');

-- The tags as one text, in the order of code points: what `tags` sorts by.
create function tags_text(tags text[]) returns text language sql immutable strict parallel safe
  return (select coalesce(string_agg(tag, ',' order by tag collate "C"), '') from unnest(tags) tag);

-- The tags as lines, for search columns: no search term matches across two of them. plpgsql, because each statement
-- plans a query in a function of the language SQL again.
create function tag_lines(tags text[]) returns text language plpgsql immutable strict parallel safe as $$
begin
  return array_to_string(tags, E'\n');
end
$$;

-- The time in a text, in the forms that filters accept; null for any other text. Immutable, because the text that is
-- cast names its time zone.
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

-- A new id: a UUIDv7 (RFC 9562), for records that a statement creates without the service.
create function new_id() returns uuid language sql volatile parallel safe as $$
  select encode(
    set_byte(
      set_byte(random_bytes, 6, (get_byte(random_bytes, 6) & 15) | 112),
      8, (get_byte(random_bytes, 8) & 63) | 128), 'hex')::uuid
  from (
    select substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
      || substring(uuid_send(gen_random_uuid()) from 7) as random_bytes) generated
$$;

-- Runs statements about one organization where its records are: Citus sends a call to the server with the shard of
-- organization_id. The statements refer to the values, an array of texts, as ($1->>0), ($1->>1), … and to the rows of
-- the previous statement, an array of objects, as $2. Each returns rows. Nothing calls this on a single PostgreSQL. It
-- runs with the rights of its caller.
create function run_in_organization(organization_id uuid, statements text[], "values" jsonb) returns json
language plpgsql as $$
declare
  statement text;
  found record;
  rows json[];
  previous json;
  results json[] := '{}';
begin
  foreach statement in array statements loop
    rows := '{}';
    for found in execute statement using "values", previous loop
      rows := rows || to_json(found);
    end loop;
    previous := array_to_json(rows);
    results := results || previous;
  end loop;
  return array_to_json(results);
end
$$;
revoke execute on function run_in_organization(uuid, text[], jsonb) from public;

-- Facts about the installation as a whole, such as the fingerprint of SECRET.
create table instance (
  name text primary key,
  value text not null
);

-- The keys that sign access tokens. A key is published before it signs, and stays published until the last token that
-- it signed has expired.
create table signing_keys (
  -- The RFC 7638 thumbprint of the public key: `kid` in tokens and in the key set.
  id text primary key,
  algorithm text not null,
  public_jwk jsonb not null,
  -- Encrypted under SECRET. A retired key has none.
  private_key_encrypted bytea,
  status text not null,
  active_since timestamptz(3),
  retired_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint signing_keys_status_check check (status in ('next', 'active', 'retired')),
  constraint signing_keys_private_half check ((private_key_encrypted is null) = (status = 'retired')),
  constraint signing_keys_retired_at check ((retired_at is not null) = (status = 'retired'))
);
-- Several processes may start on an empty table; one key wins.
create unique index signing_keys_one_active on signing_keys (status) where status = 'active';
create unique index signing_keys_one_next on signing_keys (status) where status = 'next';

-- The responses that a repeated Idempotency-Key gets again.
create table idempotency_answers (
  organization_id uuid not null,
  credential_id uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  -- Status, headers and body, encrypted with a key derived from the Idempotency-Key, of which only the hash is stored.
  answer_encrypted bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, credential_id, key_hash)
) with (autovacuum_vacuum_scale_factor = 0.03, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.03);
create index idempotency_answers_created on idempotency_answers (created_at);

-- Token buckets that all services on this database share. A bucket that has not been used for two minutes is full, and
-- is deleted. Unlogged: a crash of the database fills all buckets, and a charge does not wait for the disk. Without an
-- index on `used_at`, which each charge changes, PostgreSQL updates the row in its page and leaves nothing to vacuum.
create unlogged table rate_limits (
  -- A hash of the policy and of the credential, import trigger or address.
  id bytea primary key,
  tokens double precision not null,
  -- What the last charge took.
  granted integer not null,
  used_at timestamptz not null
) with (fillfactor = 50);

-- In a distributed database, where background work may be due: a worker reads only the shards of these organizations.
-- Unlogged, because a sweep across all shards finds what a crash loses. No foreign key: a wakeup must never be refused,
-- and a worker deletes that of an organization without work.
create unlogged table wakeups (
  organization_id uuid not null,
  kind text not null,
  due_at timestamptz not null,
  touched_at timestamptz not null,
  -- The last touch: a worker that has seen an earlier one must neither postpone nor delete the wakeup.
  touch uuid not null,
  primary key (organization_id, kind)
) with (fillfactor = 50);
