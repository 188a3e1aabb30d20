// Package money provides the tools for expenses, budgets, recurring costs, receipts, bank exports
// and exchange rates. Expenses are exact decimals and stored as integers in the currency's smallest
// unit. Amounts in different currencies are never added.
package money

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Deps are the dependencies of the tools.
type Deps struct {
	Store     *store.Store
	Knowledge *knowledge.Base
	// Currency returns the ISO 4217 code for amounts without a currency. If it is nil or returns
	// "", the currency is EUR.
	Currency func() string
	// Read reads a file that the user allows, of at most limit bytes. If it is nil, no files can be
	// read.
	Read func(ctx context.Context, path string, limit int64) (knowledge.File, error)
	// Pictures recognizes the text in pictures. If it is nil, only texts and documents can be read.
	Pictures TextReader
	// Helper is the command that reads PDFs in a separate process (see document.Limits).
	Helper []string
	// Keep saves a picture and returns its path. If it is nil, no charts are drawn.
	Keep func(name string, data []byte) (string, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	if d.Currency == nil {
		d.Currency = func() string { return "" }
	}
	return []tools.Tool{d.logExpense(), d.spendingSummary(), d.budgetCheck(), d.recurringCosts(), d.parseReceipt(), d.importExpenses()}
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "expenses", Steps: []string{`
CREATE TABLE expenses (
	id TEXT PRIMARY KEY,
	minor INTEGER NOT NULL, -- amount in the currency's smallest unit
	currency TEXT NOT NULL,
	category TEXT NOT NULL, vendor TEXT NOT NULL, note TEXT NOT NULL,
	day TEXT NOT NULL,      -- YYYY-MM-DD in the owner's zone
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX expenses_day ON expenses (day);`, `
CREATE TABLE currency_rates (
	currency TEXT PRIMARY KEY, rate REAL NOT NULL, -- units per euro
	day TEXT NOT NULL, fetched_at INTEGER NOT NULL, source TEXT NOT NULL
) WITHOUT ROWID;`, `
CREATE TABLE budgets (
	category TEXT NOT NULL, -- normalized; '' is all spending
	period TEXT NOT NULL, currency TEXT NOT NULL,
	minor INTEGER NOT NULL, -- limit in the currency's smallest unit
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL,
	PRIMARY KEY (category, period, currency)
) WITHOUT ROWID;
CREATE TABLE recurring_costs (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL,
	minor INTEGER NOT NULL, currency TEXT NOT NULL, period TEXT NOT NULL,
	day TEXT NOT NULL,      -- a day on which it is due, YYYY-MM-DD
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE expense_imports (
	import_key TEXT PRIMARY KEY, -- digest of a transaction in a bank's file
	expense TEXT NOT NULL, batch TEXT NOT NULL,
	added INTEGER NOT NULL  -- 0 if the expense was logged before the import
) WITHOUT ROWID;
CREATE INDEX expense_imports_batch ON expense_imports (batch);
-- the number of decimals of these currencies was wrong
UPDATE expenses SET minor = minor * 100 WHERE currency = 'HUF';
UPDATE expenses SET minor = minor * 10 WHERE currency IN ('IQD', 'LYD');
UPDATE expenses SET minor = minor / 100 WHERE currency IN ('BIF', 'DJF', 'GNF', 'KMF', 'RWF', 'VUV', 'XPF');`}}}
}

// Expense is one stored expense.
type Expense struct {
	ID         string            `json:"id"`
	Amount     string            `json:"amount"` // exact decimal: "12.50"
	Currency   string            `json:"currency"`
	Category   string            `json:"category"`
	Vendor     string            `json:"vendor,omitempty"`
	Note       string            `json:"note,omitempty"`
	Day        string            `json:"date"` // YYYY-MM-DD
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	minor      int64
}

// maxAmount is the maximum amount of one expense, in units of the currency.
const maxAmount = 1_000_000_000

// currencyWords maps common words to currencies.
var currencyWords = map[string]string{
	"euro": "EUR", "euros": "EUR", "dollar": "$", "dollars": "$", "bucks": "$", "pound": "£", "pounds": "£", "quid": "£", "yen": "¥",
}

// parseCurrency parses a currency given as an ISO code, a sign or a common word.
func parseCurrency(s, otherwise string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return otherwise, nil
	}
	// the user's own dollar or pound takes precedence over the best-known currency with this name
	if c, ok := amount.BySymbol(cmp.Or(currencyWords[strings.ToLower(s)], s), otherwise); ok {
		return c, nil
	}
	if c := currencyWords[strings.ToLower(s)]; amount.IsCode(c) {
		return c, nil
	}
	c := strings.ToUpper(s)
	if !amount.IsCode(c) {
		return "", tools.Errorf(tools.InvalidArguments, "%q is not a currency; use a code such as EUR or USD", tools.Clean(s))
	}
	return c, nil
}

// minorOf converts a JSON number to the currency's smallest unit. It does not round: it rejects
// amounts that the currency cannot express.
func minorOf(number, currency string) (int64, error) {
	if number == "" || strings.ContainsAny(number, "eE+-,") {
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s must be a plain positive number such as 12.50", tools.Clean(number))
	}
	n, err := amount.Parse(number, '.', currency)
	switch {
	case errors.Is(err, amount.ErrDecimals):
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s has more decimals than %s allows (%d)", tools.Clean(number), tools.Clean(currency), amount.Digits(currency))
	case err != nil:
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s is not a number such as 12.50", tools.Clean(number))
	case n <= 0 || n > maxMinor(currency):
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s must be more than 0 and at most 1,000,000,000", tools.Clean(number))
	}
	return n, nil
}

// maxMinor returns the maximum amount of one expense in the currency's smallest unit. Sums of many
// of them fit into an int64.
func maxMinor(currency string) int64 {
	most := int64(maxAmount)
	for range amount.Digits(currency) {
		most *= 10
	}
	return most
}

func queryExpenses(q store.Querier, tail string, args ...any) (out []Expense, err error) {
	rows, err := q.Query(`SELECT id, minor, currency, category, vendor, note, day, provenance, created_at FROM expenses `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("expenses: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Expense{}
	for rows.Next() {
		var e Expense
		var created int64
		if err := rows.Scan(&e.ID, &e.minor, &e.Currency, &e.Category, &e.Vendor, &e.Note, &e.Day, &e.Provenance, &created); err != nil {
			return nil, fmt.Errorf("expenses: read: %w", err)
		}
		e.Amount, e.CreatedAt = amount.Format(e.minor, e.Currency), store.Time(created)
		out = append(out, e)
	}
	return out, rows.Err()
}

// cleanCategory trims a category name. It keeps the capitals: comparisons ignore case.
func cleanCategory(s string) string {
	return textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), 60)
}
