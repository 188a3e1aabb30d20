-- JSON and blobs may contain what a text of PostgreSQL cannot: a NUL, half of a surrogate pair, and bytes that are no
-- UTF-8. SQLite reads them, so each becomes U+FFFD here.
CREATE FUNCTION sqlite_json(doc TEXT) RETURNS json LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE WHEN doc ~ '\\u(0000|[dD][89a-fA-F])' THEN regexp_replace(doc,
		'(?<!\\)((?:\\\\)*)(?:\\u0000|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]..)', '\1\\ufffd', 'g') ELSE doc END::json $$;
CREATE OR REPLACE FUNCTION sqlite_json_text(doc TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE json_typeof(v) WHEN 'boolean' THEN CASE v #>> '{}' WHEN 'true' THEN '1' ELSE '0' END ELSE v #>> '{}' END
		FROM (SELECT sqlite_json(doc) #> sqlite_json_path(path) AS v) x $$;
CREATE OR REPLACE FUNCTION sqlite_json_value(doc TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	'SELECT (sqlite_json(doc) #> sqlite_json_path(path))::text';
-- json_each returns the elements of an array, or the only value of a null, a text or a number, and no row without a value.
CREATE FUNCTION sqlite_json_rows(v json) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT n - 1, x #>> '{}' FROM json_array_elements(CASE WHEN json_typeof(v) NOT IN ('array', 'object') THEN json_build_array(v) ELSE v END) WITH ORDINALITY AS e(x, n) $$;
CREATE OR REPLACE FUNCTION json_each(doc TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	'SELECT * FROM sqlite_json_rows(sqlite_json(doc))';
CREATE OR REPLACE FUNCTION json_each(doc TEXT, path TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	'SELECT * FROM sqlite_json_rows(sqlite_json(doc) #> sqlite_json_path(path))';

-- The first group of the pattern is a character of UTF-8 in hexadecimal.
CREATE FUNCTION sqlite_valid_text(x BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT convert_from(decode(string_agg(coalesce(m[1], 'efbfbd'), '' ORDER BY n), 'hex'), 'UTF8') FROM regexp_matches(encode(x, 'hex'),
		'(0[1-9a-f]|[1-7].|(?:c[2-9a-f]|d.)[89ab].|e0[ab].[89ab].|e[1-9a-cef][89ab].[89ab].|ed[89].[89ab].|f0[9ab].(?:[89ab].){2}|f[1-3](?:[89ab].){3}|f48.(?:[89ab].){2})|..',
		'g') WITH ORDINALITY AS c(m, n) $$;
CREATE OR REPLACE FUNCTION sqlite_text(x BYTEA) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN convert_from(x, 'UTF8'); EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN RETURN sqlite_valid_text(x); END $$;
