package store_test

import (
	"fmt"
	"testing"

	"hob/platform/store"
	"hob/platform/store/postgres"
	"hob/platform/store/storetest"
)

// Both databases read JSON and blobs with what a text of PostgreSQL cannot contain, also in tables of a version
// that could not read them. PostgreSQL reads the unstorable characters as U+FFFD.
func TestTexts_UnstorableInPostgreSQL(t *testing.T) {
	server := storetest.NewServer(t)
	sets := []store.MigrationSet{{Owner: "texts", Steps: []string{`CREATE TABLE texts (n INTEGER PRIMARY KEY, doc TEXT NOT NULL, b BLOB NOT NULL)`}}}
	failOnError(t, server.Exec(t.Context(), "postgres", postgres.Migrations()[0]+`;
		CREATE TABLE migrations (owner TEXT COLLATE "C", version BIGINT, applied_at BIGINT); INSERT INTO migrations VALUES ('postgres', 1, 1)`))
	shared := openShared(t, server.URL("postgres"), sets...)
	file, err := store.Open(t.Context(), tempPath(t), sets, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, file.Close()) })
	for i, tc := range []struct{ doc, blob, json, text string }{
		{`plain`, "pläin \U0001F600 \x7f", "plain", "pläin \U0001F600 \x7f"},
		{`\u00e4 \ud83d\ude00`, "", "ä \U0001F600", ""},
		{`\u0000\u0000x\\\u0000`, "a\x00b", "\uFFFD\uFFFDx\\\uFFFD", "a\uFFFDb"},
		{`\\u0000 \\ud800 \\\\u0000`, "\xffä\xff", `\u0000 \ud800 \\u0000`, "\uFFFDä\uFFFD"},
		{`\uD800 \ud83d\ud83d\ude00`, "\xe2\x82", "\uFFFD \uFFFD\U0001F600", "\uFFFD\uFFFD"},
		{`\ude00\ude00\ud83d`, "\xc0\xafä\xed\xa0\x80\xf4\x90\x80\x80\uFFFF", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFDä\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFF"},
	} {
		for _, db := range []*store.Store{shared, file} {
			failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO texts (n, doc, b) VALUES (?, ?, ?)`, i, `{"a":"`+tc.doc+`","b":["z"],"c":"z"}`, []byte(tc.blob))
				return err
			}))
			var json, text, other, each string
			failOnError(t, db.Reader(t.Context()).QueryRow(`SELECT doc ->> '$.a', json_extract(doc, '$.c'), CAST(b AS TEXT),
				(SELECT value FROM json_each(doc, '$.b')) FROM texts WHERE n = ?`, i).Scan(&json, &other, &text, &each))
			if db == shared && (json != tc.json || text != tc.text) || fmt.Sprint(other, each) != "zz" {
				t.Errorf("%q, %q: %q, %q, %q, %q", tc.doc, tc.blob, json, text, other, each)
			}
		}
	}
}

// json_each has the same rows in both databases.
func TestJSONEach_OfAnyValue(t *testing.T) {
	server := storetest.NewServer(t)
	file, err := store.Open(t.Context(), tempPath(t), nil, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, file.Close()) })
	for _, db := range []*store.Store{openShared(t, server.URL("postgres")), file} {
		for doc, want := range map[string]string{`["a",null,2]`: "a,,2", `[]`: "", `null`: "", `"x"`: "x", `7`: "7"} {
			for query, arg := range map[string]string{`json_each(?)`: doc, `json_each(?, '$.list')`: `{"list":` + doc + `}`} {
				var got string
				var n int
				failOnError(t, db.Reader(t.Context()).QueryRow(`SELECT coalesce(group_concat(coalesce(value, ''), ','), ''), count(*) FROM `+query, arg).Scan(&got, &n))
				if got != want || n == 0 != (doc == "[]") {
					t.Errorf("%s of %s = %q in %d rows, want %q", query, arg, got, n, want)
				}
			}
		}
		var n int
		if failOnError(t, db.Reader(t.Context()).QueryRow(`SELECT count(*) FROM json_each('{}', '$.list')`).Scan(&n)); n != 0 {
			t.Errorf("%d rows without a list", n)
		}
	}
}
