-- Runs statements about one organization where its records are: Citus sends a call to the server with the shard of
-- organization_id. The statements refer to the values, an array of texts, as ($1->>0), ($1->>1), … and to the rows of the
-- previous statement, an array of objects, as $2. Each returns rows. Nothing calls this on a single PostgreSQL. It runs with
-- the rights of its caller.
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
