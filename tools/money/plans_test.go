package money

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/platform/text/amount"
	"hob/tools"
)

var today = time.Date(2026, 11, 29, 18, 0, 0, 0, time.FixedZone("EET", 2*3600))

// bench calls the tools with a database.
type bench struct {
	t    *testing.T
	d    Deps
	st   *store.Store
	list map[string]tools.Tool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), append(knowledge.Migrations(), Migrations()...), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	base, err := knowledge.New(st, knowledge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, st: st, list: map[string]tools.Tool{}}
	b.d = Deps{Store: st, Knowledge: base}
	b.loadTools()
	return b
}

func (b *bench) loadTools() {
	for _, x := range Tools(b.d) {
		b.list[x.Spec().Name] = x
	}
}

// callTool runs a tool as the engine does.
func (b *bench) callTool(name string, args any) (r tools.Result, err error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	c := tools.Call{ID: "c1", Args: raw, Now: today, Provenance: provenance.Owner}
	x := b.list[name]
	own, ok := x.(tools.TxTool)
	if !ok || !x.Spec().Own {
		return x.Call(b.t.Context(), c)
	}
	if p, ok := x.(tools.Preparer); ok {
		if c.Prepared, err = p.Prepare(b.t.Context(), c); err != nil {
			return r, err
		}
	}
	err = b.st.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		r, err = own.CallTx(b.t.Context(), tx, c)
		return err
	})
	return r, err
}

func (b *bench) mustCall(name string, args any) tools.Result {
	b.t.Helper()
	r, err := b.callTool(name, args)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	return r
}

func (b *bench) undoCall(name string, r tools.Result) (said string, err error) {
	b.t.Helper()
	err = b.st.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		said, err = b.list[name].(tools.Undoer).UndoTx(b.t.Context(), tx, r.Undo.Data)
		return err
	})
	return said, err
}

type object = map[string]any

// The spending of thousands of expenses in a budget is the exact sum.
func TestBudget_SumsThousandsOfExpensesExactly(t *testing.T) {
	b := newBench(t)
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a fixed sequence
	sums := map[string]*big.Rat{"EUR": new(big.Rat), "JPY": new(big.Rat), "BHD": new(big.Rat)}
	err := b.st.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 3000 {
			for currency, sum := range sums {
				minor := r.Int64N(1_000_000) + 1
				exact, _ := new(big.Rat).SetString(amount.Format(minor, currency))
				sum.Add(sum, exact)
				_, err := tx.Exec(`INSERT INTO expenses (id, minor, currency, category, vendor, note, day, provenance, created_at) VALUES (?,?,?,?,'','',?,'owner',0)`,
					fmt.Sprintf("x-%s-%d", currency, i), minor, currency, "food", fmt.Sprintf("2026-11-%02d", i%29+1))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for currency, sum := range sums {
		got := b.mustCall("budget_check", object{"action": "set", "category": "Foods", "limit": 1000, "currency": currency}).Data.(BudgetState)
		if want := sum.FloatString(amount.Digits(currency)); got.Spent != want || got.Count != 3000 {
			t.Errorf("%s: spent %s in %d expenses, want %s in 3000", currency, got.Spent, got.Count, want)
		}
	}
}

func TestBudget_CountsOnlyItsPeriod(t *testing.T) {
	for _, tc := range []struct{ period, from, to string }{
		{"day", "2026-11-29", "2026-11-29"}, {"week", "2026-11-23", "2026-11-29"}, {"month", "2026-11-01", "2026-11-30"}, {"quarter", "2026-10-01", "2026-12-31"}, {"year", "2026-01-01", "2026-12-31"},
	} {
		from, to := budgetDays(tc.period, today)
		if from.Format(time.DateOnly) != tc.from || to.Format(time.DateOnly) != tc.to {
			t.Errorf("budgetDays(%s) = %v, %v, want %s, %s", tc.period, from, to, tc.from, tc.to)
		}
	}
	b := newBench(t)
	for _, args := range []object{{"action": "set", "category": "x"}, {"action": "set", "limit": -5}, {"action": "set", "limit": 12.345}, {"action": "set", "limit": 5, "period": "fortnight"}, {"action": "burn"}, {"action": "remove", "category": "x"}} {
		if r, err := b.callTool("budget_check", args); err == nil {
			t.Errorf("budget_check %v = %q, want an error", args, r.Text)
		}
	}
}

func TestRecurring_FindsRegularPayments(t *testing.T) {
	b := newBench(t)
	log := func(vendor string, price float64, days ...string) {
		for _, d := range days {
			b.mustCall("log_expense", object{"amount": price, "vendor": vendor, "date": d})
		}
	}
	log("Netflix", 12.99, "2026-08-31", "2026-09-30", "2026-10-31", "2026-11-28")
	log("Apple", 2.99, "2026-09-05", "2026-10-05", "2026-11-05")
	log("Apple", 9.99, "2026-09-17", "2026-10-17", "2026-11-17")
	log("Insurance", 300, "2024-11-20", "2025-11-20")
	log("Gym", 30, "2026-01-10", "2026-02-10", "2026-03-10", "2026-04-10")
	log("Bakery", 4.20, "2026-11-01", "2026-11-02", "2026-11-05", "2026-11-20")
	log("Cinema", 11, "2026-10-01", "2026-11-01")
	text := b.mustCall("recurring_costs", object{}).Text
	for _, want := range []string{"Netflix: 12.99 EUR per month, next Mon 28 Dec (4 payments)", "Apple: 2.99 EUR per month", "Apple: 9.99 EUR per month", "Insurance: 300.00 EUR per year, expected Fri 20 Nov", "Gym: 30.00 EUR per month, expected Sun 10 May but not seen since"} {
		if !strings.Contains(text, want) {
			t.Errorf("recurring_costs: %q is missing in\n%s", want, text)
		}
	}
	for _, bad := range []string{"Bakery", "Cinema"} {
		if strings.Contains(text, bad) {
			t.Errorf("recurring_costs contains %s:\n%s", bad, text)
		}
	}
}

// A bank writes more than the user: the payments of a declared cost count once.
func TestRecurring_RecognizesDeclaredCostInPayments(t *testing.T) {
	b := newBench(t)
	for _, d := range []string{"2026-09-28", "2026-10-28", "2026-11-28"} {
		b.mustCall("log_expense", object{"amount": 12, "vendor": "NETFLIX.COM", "date": d})
		b.mustCall("log_expense", object{"amount": 12, "vendor": "Apple iCloud", "date": d})
	}
	b.mustCall("recurring_costs", object{"action": "add", "name": "Netflix", "amount": 12, "due": "2026-11-28"})
	b.mustCall("recurring_costs", object{"action": "add", "name": "Apple Music", "amount": 12, "due": "2026-11-28"})
	text := b.mustCall("recurring_costs", object{}).Text
	if !strings.Contains(text, "432.00 EUR per year") || strings.Contains(text, "NETFLIX") || !strings.Contains(text, "Apple iCloud") {
		t.Errorf("recurring_costs: %s", text)
	}
}

func TestBrief_NamesBudgetsAndDueCosts(t *testing.T) {
	b := newBench(t)
	b.mustCall("log_expense", object{"amount": 85, "category": "food"})
	b.mustCall("budget_check", object{"action": "set", "category": "food", "limit": 100})
	b.mustCall("budget_check", object{"action": "set", "category": "books", "limit": 100})
	b.mustCall("recurring_costs", object{"action": "add", "name": "Rent", "amount": 700, "due": "2026-10-29"})
	items, err := Brief{Store: b.st}.Brief(t.Context(), today, today.AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, i := range items {
		lines = append(lines, i.Text)
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "food: 85.00 of 100.00 EUR") || !strings.Contains(text, "due: Rent, 700.00 EUR") || strings.Contains(text, "books") {
		t.Errorf("the briefing says\n%s", text)
	}
}

// A receipt in a photo and in a file is logged once, with the category that the vendor had before.
func TestReceipt_IsLoggedOnce(t *testing.T) {
	b := newBench(t)
	text := "MAXIMA LT, UAB\n2026-11-29 18:42\nRye bread 1.89\nMilk 1.45\nTOTAL EUR 3.34\n"
	b.d.Pictures = recognized(text)
	b.d.Read = func(_ context.Context, path string, _ int64) (knowledge.File, error) {
		if path == "photo.png" {
			return knowledge.File{Path: path, Content: []byte("\x89PNG\r\n\x1a\n0000IHDR"), Source: provenance.Outside}, nil
		}
		return knowledge.File{Path: path, Content: []byte(text), Source: provenance.Outside}, nil
	}
	b.loadTools()
	b.mustCall("log_expense", object{"amount": 8, "vendor": "Maxima X-12 Vilnius", "category": "groceries", "date": "2026-11-02"})
	r := b.mustCall("parse_receipt", object{"path": "photo.png", "log": true})
	e := r.Data.(receiptOut).Expense
	if e == nil || e.Amount != "3.34" || e.Category != "groceries" || e.Day != "2026-11-29" || !e.Provenance.Tainted() || !r.Source.Tainted() {
		t.Fatalf("parse_receipt = %s, expense %+v", r.Text, e)
	}
	if again := b.mustCall("parse_receipt", object{"path": "receipt.txt", "log": true}); again.Undo != nil || !strings.Contains(again.Text, "logged before") {
		t.Errorf("the second time: %s", again.Text)
	}
	if said, err := b.undoCall("parse_receipt", r); err != nil || !strings.Contains(said, "3.34 EUR") {
		t.Errorf("undo = %q, %v", said, err)
	}
	if list, err := queryExpenses(b.st.Reader(t.Context()), ""); err != nil || len(list) != 1 {
		t.Errorf("after the undo there are %d expenses, %v", len(list), err)
	}
	for _, args := range []object{{}, {"text": "hello"}, {"text": text, "path": "x"}, {"text": text, "date": "tomorrow"}, {"text": text, "currency": "JPY"}} {
		if r, err := b.callTool("parse_receipt", args); err == nil {
			t.Errorf("parse_receipt %v = %q, want an error", args, r.Text)
		}
	}
}

// recognized is a TextReader that finds the same text in each picture.
type recognized string

func (r recognized) Read(context.Context, []byte) (string, error) { return string(r), nil }
