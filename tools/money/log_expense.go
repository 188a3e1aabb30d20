package money

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/dateparse"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const kindExpense = "expense"

type logExpenseIn struct {
	Amount   json.Number `json:"amount" jsonschema:"such as 12.50"`
	Category string      `json:"category,omitempty" jsonschema:"such as food, travel"`
	Currency string      `json:"currency,omitempty" jsonschema:"ISO code; default the user's"`
	Vendor   string      `json:"vendor,omitempty" jsonschema:"shop or payee"`
	Date     string      `json:"date,omitempty" jsonschema:"default today"`
	Note     string      `json:"note,omitempty"`
}

func (d Deps) logExpense() tools.Tool {
	return tools.New(tools.Def[logExpenseIn]{
		Spec: tools.Spec{
			Name: "log_expense", Category: "money", Effects: tools.Write,
			Description: "Log money that was spent.",
			Keywords:    "expense spent paid bought cost price money purchase receipt",
		},
		Summary: func(in logExpenseIn) string { return fmt.Sprintf("Log an expense of %s %s", in.Amount, in.Currency) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in logExpenseIn) (tools.Result, error) {
			e, day, err := d.parseExpense(tx, c, in)
			if err != nil {
				return tools.Result{}, err
			}
			if err := d.insertExpense(tx, e); err != nil {
				return tools.Result{}, err
			}
			text := fmt.Sprintf("Logged %s %s for %s", e.Amount, e.Currency, e.Category)
			if e.Vendor != "" {
				text += " at " + e.Vendor
			}
			return tools.Result{Source: provenance.Tool, Text: text + ", " + dateparse.FormatDay(day, c.Now) + ".", Data: e, Undo: tools.NewUndo("remove the expense of "+e.Amount+" "+e.Currency, e.ID)}, nil
		},
		UndoTx: d.undoExpense,
	})
}

func (d Deps) insertExpense(tx *store.Tx, e Expense) error {
	_, err := tx.Exec(`INSERT INTO expenses (id, minor, currency, category, vendor, note, day, provenance, created_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		e.ID, e.minor, e.Currency, e.Category, e.Vendor, e.Note, e.Day, string(e.Provenance), store.Millis(e.CreatedAt))
	if err != nil {
		return fmt.Errorf("expenses: add: %w", err)
	}
	doc := knowledge.Doc{Kind: kindExpense, Ref: e.ID, Title: e.Category + " " + e.Vendor, Text: fmt.Sprintf("%s %s %s %s %s", e.Amount, e.Currency, e.Category, e.Vendor, e.Note), At: e.CreatedAt, Provenance: e.Provenance}
	return d.Knowledge.IndexTx(tx, doc)
}

// undoExpense removes one logged expense. Its undo data is the id.
func (d Deps) undoExpense(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var id string
	if err := json.Unmarshal(data, &id); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	found, err := queryExpenses(tx, `WHERE id = ?`, id)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", tools.Errorf(tools.NotFound, "the expense no longer exists")
	}
	if _, err := tx.Exec(`DELETE FROM expenses WHERE id = ?`, id); err != nil {
		return "", fmt.Errorf("expenses: delete: %w", err)
	}
	return fmt.Sprintf("Removed the expense of %s %s.", found[0].Amount, found[0].Currency), d.Knowledge.UnindexTx(tx, kindExpense, id)
}

// ownCurrency returns the user's currency. If neither the configuration nor the system tells it, this is the currency of
// the expense that was logged last, or else EUR.
func (d Deps) ownCurrency(q store.Querier) (string, error) {
	if c := d.Currency(); c != "" {
		return c, nil
	}
	last, err := queryExpenses(q, `ORDER BY created_at DESC, id DESC LIMIT 1`)
	if err != nil || len(last) == 0 {
		return "EUR", err
	}
	return last[0].Currency, nil
}

func (d Deps) parseExpense(q store.Querier, c tools.Call, in logExpenseIn) (Expense, time.Time, error) {
	own, err := d.ownCurrency(q)
	if err != nil {
		return Expense{}, time.Time{}, err
	}
	cur, err := parseCurrency(in.Currency, own)
	if err != nil {
		return Expense{}, time.Time{}, err
	}
	if strings.HasPrefix(in.Amount.String(), "-") {
		return Expense{}, time.Time{}, tools.Errorf(tools.InvalidArguments, "amount %s is negative; money that comes in or back is no expense and is not recorded", tools.Clean(in.Amount.String()))
	}
	minor, err := minorOf(in.Amount.String(), cur)
	if err != nil {
		return Expense{}, time.Time{}, err
	}
	day, err := tools.ParsePastDay(in.Date, c.Now)
	if err != nil {
		return Expense{}, time.Time{}, err
	}
	e := Expense{
		ID: shortid.New("x"), Amount: amount.Format(minor, cur), Currency: cur, Category: cleanCategory(in.Category), Vendor: textnorm.Ellipsize(in.Vendor, 100),
		Note: textnorm.Ellipsize(in.Note, 500), Day: day.Format(time.DateOnly), Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond), minor: minor,
	}
	if e.Category == "" {
		e.Category = "other"
	}
	return e, day, nil
}
