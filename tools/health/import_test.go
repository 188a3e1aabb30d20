package health

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

func TestImport(t *testing.T) {
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	content := map[string]string{
		"rows.csv":       "Date;Habit;Minutes;Note\n01.11.2026;Reading;12,5;novel\n02.11.2026;Reading;30;\n02.11.2026;Gym;;\n31.02.2026;Gym;;\n01.01.2031;Gym;;\n03.11.2026;Gym;lots;\n",
		"wide.csv":       "Date,Reading,Water\n2026-11-05,yes,6\n2026-11-06,no,0\n2026-11-07,x,\n",
		"Checkmarks.csv": "Date,Run\n2026-11-08,2\n2026-11-09,1\n2026-11-10,-1\n2026-11-11,3\n",
		"one.csv":        "Date,Value\n2026-11-12,3\n2026-11-13,0\n",
		"dates.csv":      "Date,Habit\n03/04/2026,Yoga\n",
		"columns.csv":    "When,What\n2026-11-01,Yoga\n",
		"binary.csv":     "\x00\x01\x02\xff\xfe\x00\x09",
		"empty.csv":      "",
	}
	d := Deps{Store: st, Read: func(_ context.Context, path string, _ int64) (knowledge.File, error) {
		return knowledge.File{Path: "/x/" + path, Content: []byte(content[path]), Source: provenance.Outside}, nil
	}}
	tool := d.importHabits()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	call := func(args map[string]string) (r tools.Result, err error) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		c := tools.Call{Args: raw, Now: now, Provenance: provenance.Owner}
		if c.Prepared, err = tool.(tools.Preparer).Prepare(t.Context(), c); err != nil {
			return r, err
		}
		err = st.Write(t.Context(), func(tx *store.Tx) (err error) {
			r, err = tool.(tools.TxTool).CallTx(t.Context(), tx, c)
			return err
		})
		return r, err
	}
	list := func() (out []string) {
		all, err := queryEntries(st.Reader(t.Context()), `ORDER BY day, habit`)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			line := e.Day + " " + e.Habit
			if e.Value != nil {
				line += " " + withUnit(*e.Value, e.Unit)
			}
			out = append(out, line)
		}
		return out
	}
	var undo []tools.Result
	for _, args := range []map[string]string{{"path": "rows.csv"}, {"path": "wide.csv"}, {"path": "Checkmarks.csv"}, {"path": "one.csv", "habit": "Cups"}, {"path": "dates.csv", "date_order": "dmy"}} {
		r, err := call(args)
		if err != nil || !r.Source.Tainted() {
			t.Fatalf("%v: %+v, %v", args, r, err)
		}
		undo = append(undo, r)
		if again, err := call(args); err != nil || again.Undo != nil || !strings.Contains(again.Text, "Imported 0 entries") {
			t.Errorf("%v again: %s, %v", args, again.Text, err)
		}
	}
	if !strings.Contains(undo[0].Text, `Not read: 3 values (line 5: "31.02.2026" is not a date; line 6: the date 2031-01-01 is in the future; line 7: "lots" is not a number)`) {
		t.Errorf("the text is %s", undo[0].Text)
	}
	want := []string{"2026-04-03 Yoga", "2026-11-01 Reading 12.5 minutes", "2026-11-02 Gym", "2026-11-02 Reading 30 minutes", "2026-11-05 Reading", "2026-11-05 Water 6", "2026-11-07 Reading", "2026-11-08 Run", "2026-11-12 Cups 3"}
	if d := cmp.Diff(want, list()); d != "" {
		t.Errorf("the entries: %s", d)
	}
	for _, args := range []map[string]string{{"path": "dates.csv"}, {"path": "columns.csv"}, {"path": "binary.csv"}, {"path": "empty.csv"}, {"path": "rows.csv", "date_order": "x"}} {
		if r, err := call(args); err == nil {
			t.Errorf("%v: %s, want an error", args, r.Text)
		}
	}
	for _, r := range undo {
		err := st.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tool.(tools.Undoer).UndoTx(t.Context(), tx, r.Undo.Data)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if left := list(); len(left) != 0 {
		t.Errorf("the undo leaves %v", left)
	}
}

func FuzzImport(f *testing.F) {
	f.Add("Date;Habit;Minutes\n01.11.2026;Reading;12,5\n")
	f.Add("Date,Reading,Water\n2026-11-05,yes,6\n")
	f.Fuzz(func(t *testing.T, s string) {
		now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		table, err := readHabitTable(knowledge.File{Path: "x.csv", Content: []byte(s)}, importIn{})
		if err != nil {
			return
		}
		entries, err := table.collectEntries(now)
		if err != nil {
			return
		}
		for _, e := range entries {
			if foldName(e.Habit) == "" || e.Day > "2026-11-29" || e.Value != nil && *e.Value <= 0 {
				t.Errorf("entry %+v", e)
			}
		}
	})
}
