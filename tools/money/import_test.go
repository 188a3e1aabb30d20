package money

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/amount"
)

// setFiles makes the bench read files from a map.
func (b *bench) setFiles(content map[string]string) {
	b.d.Read = func(_ context.Context, path string, _ int64) (knowledge.File, error) {
		text, ok := content[path]
		if !ok {
			return knowledge.File{}, os.ErrNotExist
		}
		return knowledge.File{Path: path, Content: []byte(text), Source: provenance.Outside}, nil
	}
	b.loadTools()
}

// dumpRows returns all rows that an import can change.
func (b *bench) dumpRows() []string {
	b.t.Helper()
	var out []string
	for _, q := range []string{
		`SELECT id || '|' || minor || '|' || currency || '|' || category || '|' || vendor || '|' || day FROM expenses ORDER BY 1`,
		`SELECT import_key || '|' || expense || '|' || batch || '|' || added FROM expense_imports ORDER BY 1`,
	} {
		rows, err := b.st.Reader(b.t.Context()).Query(q)
		if err != nil {
			b.t.Fatal(err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				b.t.Fatal(err)
			}
			out = append(out, s)
		}
		if err := rows.Err(); err != nil {
			b.t.Fatal(err)
		}
		_ = rows.Close()
	}
	return out
}

func (b *bench) importExpenses(args object) importOut {
	b.t.Helper()
	return b.mustCall("import_expenses", args).Data.(importOut)
}

// Importing 3,000 random transactions adds up exactly, importing them or a part of them again adds
// nothing, and the undo restores every row.
func TestImport_IsExactAndIdempotent(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a fixed sequence
	shops := []string{"Lidl", "Maxima", "Bar Nida", "Café Central", "Amazon"}
	for _, format := range []string{"csv", "qif", "ofx"} {
		t.Run(format, func(t *testing.T) {
			b := newBench(t)
			b.mustCall("log_expense", object{"amount": 5, "category": "food", "date": "2026-01-01"})
			var entries []string
			sum := new(big.Rat)
			spent := 0
			for n := range 3000 {
				minor := r.Int64N(5000) + 1 // equal rows occur
				day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n/20)
				text := "-" + amount.Format(minor, "EUR")
				if n%10 == 0 {
					text = text[1:]
				} else {
					exact, _ := new(big.Rat).SetString(text[1:])
					sum.Add(sum, exact)
					spent++
				}
				shop := shops[r.IntN(len(shops))]
				switch format {
				case "csv":
					entries = append(entries, fmt.Sprintf("%s;%s;%s;Purchase\n", day.Format("02.01.2006"), shop, strings.ReplaceAll(text, ".", ",")))
				case "qif":
					entries = append(entries, fmt.Sprintf("D%s\nT%s\nP%s\n^\n", day.Format("01/02/2006"), text, shop))
				case "ofx":
					entries = append(entries, fmt.Sprintf("<STMTTRN><TRNTYPE>POS<DTPOSTED>%s<TRNAMT>%s<FITID>T%d<NAME>%s</STMTTRN>\n", day.Format("20060102"), text, n, shop))
				}
			}
			head := map[string]string{"csv": "Datum;Empfänger;Betrag;Verwendungszweck\n", "qif": "!Type:Bank\n", "ofx": "<OFX><CURDEF>EUR\n"}[format]
			whole := head + strings.Join(entries, "")
			b.setFiles(map[string]string{"whole": whole, "half": head + strings.Join(entries[:1500], ""), "end": head + strings.Join(entries[1500:], "")})

			before := b.dumpRows()
			got := b.mustCall("import_expenses", object{"path": "half"})
			if o := got.Data.(importOut); o.Added == 0 || o.Known != 0 {
				t.Fatalf("the first half: %s", got.Text)
			}
			middle := b.dumpRows()
			rest := b.mustCall("import_expenses", object{"path": "whole"})
			o := rest.Data.(importOut)
			if o.Added+got.Data.(importOut).Added != spent || o.Known != got.Data.(importOut).Added || o.Incoming != 300 || o.Matched != 0 {
				t.Errorf("the whole file after its first half: %s", rest.Text)
			}
			total := b.mustCall("spending_summary", object{"period": "all"}).Data.(map[string]any)["total"].([]Total)
			if want := new(big.Rat).Add(sum, big.NewRat(5, 1)).FloatString(2); len(total) != 1 || total[0].Amount != want {
				t.Errorf("the sum is %+v, want %s", total, want)
			}
			if again := b.importExpenses(object{"path": "end"}); again.Added != 0 || again.Matched != 0 {
				t.Errorf("the second half again: %+v", again)
			}
			if _, err := b.undoCall("import_expenses", rest); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(middle, b.dumpRows()); d != "" {
				t.Errorf("the undo of the second import leaves %s", d)
			}
			if _, err := b.undoCall("import_expenses", got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, b.dumpRows()); d != "" {
				t.Errorf("the undo leaves %s", d)
			}
			if said, err := b.undoCall("import_expenses", got); err == nil {
				t.Errorf("undoing twice says %q", said)
			}
		})
	}
}

func TestImport_RecognizesWhatWasLogged(t *testing.T) {
	b := newBench(t)
	b.mustCall("log_expense", object{"amount": 23.47, "vendor": "Maxima", "category": "groceries", "date": "2026-11-01"})
	b.mustCall("log_expense", object{"amount": 4.50, "category": "coffee", "date": "2026-11-03"})
	b.mustCall("log_expense", object{"amount": 9.99, "vendor": "Book shop", "date": "2026-11-04"})
	csv := "Date,Payee,Description,Amount,Currency\n" +
		"2026-11-02,\"MAXIMA LT, UAB\",Card 1234,-23.47,EUR\n" + // booked a day later
		"2026-11-03,Caffeine,,-4.50,EUR\n" + // the logged one has no vendor
		"2026-11-03,Caffeine,,-4.50,EUR\n" + // a second coffee
		"2026-11-05,Netflix,,-9.99,EUR\n" + // only the amount is equal
		"2026-11-06,Maxima,,-10.00,EUR\n"
	ofx := "<OFX><CURDEF>EUR\n<STMTTRN><TRNTYPE>POS<DTPOSTED>20261106<TRNAMT>-10.00<FITID>X1<NAME>MAXIMA X-12</STMTTRN><STMTTRN><TRNTYPE>POS<DTPOSTED>20261106<TRNAMT>-11.00<FITID>X2<NAME>MAXIMA X-12</STMTTRN>" +
		"<STMTTRN><TRNTYPE>POS<DTPOSTED>20261106<TRNAMT>-11.00<FITID>X2<NAME>MAXIMA X-12</STMTTRN>"
	b.setFiles(map[string]string{"bank.csv": csv, "bank.ofx": ofx})
	before := b.dumpRows()
	r := b.mustCall("import_expenses", object{"path": "bank.csv"})
	o := r.Data.(importOut)
	if o.Matched != 2 || o.Added != 3 || len(o.Possible) != 1 || !strings.Contains(o.Possible[0].Text, "Netflix") || !r.Source.Tainted() {
		t.Errorf("import = %s", r.Text)
	}
	list, err := queryExpenses(b.st.Reader(t.Context()), `WHERE day = '2026-11-06'`)
	if err != nil || len(list) != 1 || list[0].Category != "groceries" || !list[0].Provenance.Tainted() {
		t.Errorf("the category of a known vendor: %+v, %v", list, err)
	}
	other := b.mustCall("import_expenses", object{"path": "bank.ofx"})
	if o := other.Data.(importOut); o.Matched != 1 || o.Added != 1 || len(o.Notes) != 1 {
		t.Errorf("the same account as OFX: %s", other.Text)
	}
	for _, x := range []struct {
		r    any
		undo func() error
	}{{other, func() error { _, err := b.undoCall("import_expenses", other); return err }}, {r, func() error { _, err := b.undoCall("import_expenses", r); return err }}} {
		if err := x.undo(); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(before, b.dumpRows()); d != "" {
		t.Errorf("the undo leaves %s", d)
	}
}

func TestImport_AsksWhatTheFileDoesNotShow(t *testing.T) {
	b := newBench(t)
	b.setFiles(map[string]string{
		"dates": "Date,Payee,Amount\n03/10/2026,Tea,-4.50\n", "signs": "Date,Payee,Amount\n2026-10-03,Cup,5.50\n", "columns": "When,What\n2026-10-03,4.50\n",
		"binary": "\x00\x01\x02\x03\xff\xfe\x00\x09", "empty": "", "page": "<html>Sign in</html>",
	})
	for _, tc := range []struct{ file, want string }{
		{"dates", "3 October 2026 or 10 March 2026?; ask the user, then call again with date_order"},
		{"signs", "ask the user, then call again with spending"},
		{"columns", "ask the user, then call again with columns"},
		{"binary", "not text"},
		{"empty", "no transactions"},
		{"page", "no CSV, OFX or QIF"},
		{"none", "not exist"},
	} {
		_, err := b.callTool("import_expenses", object{"path": tc.file})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.file, err, tc.want)
		}
	}
	if got := b.dumpRows(); len(got) != 0 {
		t.Errorf("a question left rows: %v", got)
	}
	for _, args := range []object{{"path": "dates", "date_order": "dmy"}, {"path": "signs", "spending": "positive"}, {"path": "columns", "columns": object{"date": "when", "amount": "2"}, "spending": "positive"}} {
		if o := b.importExpenses(args); o.Added != 1 {
			t.Errorf("%v: %+v", args, o)
		}
	}
	for _, args := range []object{{"path": "dates", "date_order": "middle"}, {"path": "signs", "spending": "both"}, {"path": "dates", "encoding": "klingon"}} {
		if _, err := b.callTool("import_expenses", args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
