-- What Hob's statements use of SQLite and PostgreSQL lacks (https://www.sqlite.org/lang_corefunc.html).
CREATE TABLE sqlite_sequence (name TEXT COLLATE "C" PRIMARY KEY, seq BIGINT NOT NULL);
CREATE VIEW sqlite_master AS
	SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'i' THEN 'index' WHEN 'v' THEN 'view' END AS type, c.relname::text AS name
	FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i', 'v');
CREATE VIEW pragma_table_list AS
	SELECT 'main' AS schema, name, type FROM sqlite_master WHERE type IN ('table', 'view');

-- The last commit of each connection that writes; see Group.
CREATE TABLE store_writers (writer TEXT COLLATE "C" PRIMARY KEY, token TEXT COLLATE "C" NOT NULL, at BIGINT NOT NULL);

CREATE FUNCTION sqlite_text(x TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sqlite_text(x BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$ SELECT convert_from(x, 'UTF8') $$;
CREATE FUNCTION sqlite_text(x BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT x::text';
CREATE FUNCTION sqlite_text(x DOUBLE PRECISION) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT x::text';
CREATE FUNCTION sqlite_integer(x TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE WHEN x IS NOT NULL THEN coalesce(substring(x FROM '^\s*([-+]?\d{1,18})')::bigint, 0) END $$;
CREATE FUNCTION sqlite_integer(x BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION sqlite_integer(x BOOLEAN) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT x::int::bigint';
CREATE FUNCTION sqlite_integer(x DOUBLE PRECISION) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT trunc(x)::bigint';
CREATE FUNCTION sqlite_real(x BIGINT) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE AS 'SELECT x::double precision';
CREATE FUNCTION sqlite_real(x DOUBLE PRECISION) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE AS 'SELECT x';

CREATE FUNCTION sqlite_random() RETURNS BIGINT LANGUAGE sql VOLATILE AS
	$$ SELECT ('x' || substr(replace(gen_random_uuid()::text, '-', ''), 17))::bit(64)::bigint $$;
CREATE FUNCTION randomblob(n BIGINT) RETURNS BYTEA LANGUAGE sql VOLATILE AS
	$$ SELECT substr(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 1, n::int) $$;
CREATE FUNCTION hex(x BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$ SELECT upper(encode(x, 'hex')) $$;
CREATE FUNCTION unixepoch() RETURNS BIGINT LANGUAGE sql STABLE AS 'SELECT extract(epoch FROM now())::bigint';
CREATE FUNCTION instr(x TEXT, y TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT strpos(x, y)::bigint';
CREATE FUNCTION instr(x BYTEA, y BYTEA) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT position(y IN x)::bigint';
CREATE FUNCTION substr(x TEXT, a BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.substr(x, a::int)';
CREATE FUNCTION substr(x TEXT, a BIGINT, n BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.substr(x, a::int, n::int)';
CREATE FUNCTION round(x DOUBLE PRECISION, n BIGINT) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE AS
	'SELECT pg_catalog.round(x::numeric, n::int)::double precision';
CREATE FUNCTION iif(c BOOLEAN, a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN c THEN a ELSE b END';
CREATE FUNCTION max(a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN greatest(a, b) END';
CREATE FUNCTION min(a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN least(a, b) END';
CREATE FUNCTION max(a BIGINT, b BOOLEAN) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN greatest(a, b::int) END';
CREATE FUNCTION max(a anycompatible, b anycompatible, c anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL THEN greatest(a, b, c) END';
CREATE FUNCTION min(a anycompatible, b anycompatible, c anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL THEN least(a, b, c) END';
CREATE FUNCTION sqlite_glob(pattern TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT '^' || replace(replace(regexp_replace(pattern, '([.+(){}|\\$])', '\\\1', 'g'), '*', '.*'), '?', '.') || '$' $$;

-- SQLite counts a condition as 1 or 0.
CREATE FUNCTION sqlite_sum_step(n BIGINT, x BOOLEAN) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN x IS NULL THEN n ELSE coalesce(n, 0) + x::int END';
CREATE FUNCTION sqlite_max_step(n BIGINT, x BOOLEAN) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT greatest(n, x::int)';
CREATE FUNCTION sqlite_min_step(n BIGINT, x BOOLEAN) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT least(n, x::int)';
CREATE AGGREGATE sum(BOOLEAN) (SFUNC = sqlite_sum_step, STYPE = BIGINT);
CREATE AGGREGATE max(BOOLEAN) (SFUNC = sqlite_max_step, STYPE = BIGINT);
CREATE AGGREGATE min(BOOLEAN) (SFUNC = sqlite_min_step, STYPE = BIGINT);
CREATE FUNCTION sqlite_concat_step(s TEXT, x TEXT, by TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN s IS NULL THEN x WHEN x IS NULL THEN s ELSE s || by || x END';
CREATE AGGREGATE group_concat(TEXT, TEXT) (SFUNC = sqlite_concat_step, STYPE = TEXT);

-- JSON in texts (https://www.sqlite.org/json1.html). A path is $, $.name, $[n] or name.
CREATE FUNCTION sqlite_json_path(path TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE WHEN path = '$' THEN '{}' WHEN left(path, 2) = '$.' THEN string_to_array(substr(path, 3), '.')
		WHEN left(path, 2) = '$[' THEN ARRAY[rtrim(substr(path, 3), ']')] ELSE ARRAY[path] END $$;
CREATE FUNCTION sqlite_json_text(doc TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE json_typeof(v) WHEN 'boolean' THEN CASE v #>> '{}' WHEN 'true' THEN '1' ELSE '0' END ELSE v #>> '{}' END
		FROM (SELECT doc::json #> sqlite_json_path(path) AS v) x $$;
CREATE FUNCTION sqlite_json_value(doc TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT (doc::json #> sqlite_json_path(path))::text';
CREATE OPERATOR ->> (LEFTARG = TEXT, RIGHTARG = TEXT, FUNCTION = sqlite_json_text);
CREATE OPERATOR -> (LEFTARG = TEXT, RIGHTARG = TEXT, FUNCTION = sqlite_json_value);
CREATE FUNCTION json_extract(doc TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT sqlite_json_text(doc, path)';
CREATE FUNCTION json_valid(doc TEXT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN PERFORM doc::json; RETURN doc IS NOT NULL; EXCEPTION WHEN data_exception THEN RETURN false; END $$;
-- json_each returns the elements of an array only.
CREATE FUNCTION json_each(doc TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT n - 1, v #>> '{}' FROM json_array_elements(doc::json) WITH ORDINALITY AS e(v, n) $$;
CREATE FUNCTION json_each(doc TEXT, path TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT n - 1, v #>> '{}' FROM json_array_elements(doc::json #> sqlite_json_path(path)) WITH ORDINALITY AS e(v, n) $$;
