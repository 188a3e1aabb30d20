package app

import (
	"slices"
	"strings"
	"testing"
)

// noText lists the tables that cannot contain personal text, or that must not be changed, with the
// reason.
var noText = map[string]string{
	"audit":          "append-only: contents stand there as keyed digests alone",
	"channel_state":  "where channels have read to: numbers and ids of platforms",
	"currency_rates": "public exchange rates",
	"drafts":         "ids of messages at platforms",
	"guard_key":      "a key from before it was a file",
	"migrations":     "the versions of the tables",
	"outbox_shown":   "ids of deliveries and clients",
	"pause":          "a time",
}

// TestErasers_CoverEveryTable checks that each table declares how forgetting handles it.
func TestErasers_CoverEveryTable(t *testing.T) {
	h := open(t, "")
	d := h.d
	owned := map[string]bool{}
	for _, e := range d.listErasers() {
		for _, table := range e.Tables() {
			owned[table] = true
		}
	}
	rows, err := d.store.Read().QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if base, _, shadow := strings.Cut(name, "_fts"); shadow && owned[base] { // triggers keep the index in step with its table
			continue
		}
		if !owned[name] && noText[name] == "" {
			t.Errorf("no Eraser covers the table %s: add one (platform/store/erase.Table) to the package that owns it and to listErasers in documents.go", name)
		}
	}
	for name := range owned {
		if !slices.Contains(all, name) {
			t.Errorf("an Eraser names the table %s, which does not exist", name)
		}
	}
}
