// Package money provides log_expense, spending_summary and convert_currency. Expenses are exact decimals and stored as
// integers in the currency's smallest unit. Amounts in different currencies are never added.
package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Deps are the dependencies of the tools.
type Deps struct {
	Knowledge *knowledge.Base
	// Currency returns the ISO 4217 code for amounts without a currency. If it is nil or returns
	// "", the currency is EUR.
	Currency func() string
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	if d.Currency == nil {
		d.Currency = func() string { return "" }
	}
	return []tools.Tool{d.logExpense(), d.spendingSummary()}
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
) WITHOUT ROWID;`}}}
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

// minorDigits returns the number of decimals of a currency. Most currencies have two (ISO 4217,
// list one).
func minorDigits(currency string) int {
	switch currency {
	case "JPY", "KRW", "VND", "CLP", "ISK", "HUF", "XAF", "XOF", "PYG", "UGX":
		return 0
	case "BHD", "KWD", "OMR", "JOD", "TND":
		return 3
	}
	return 2
}

var currencySymbols = map[string]string{
	"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "zł": "PLN", "kč": "CZK", "₹": "INR", "₴": "UAH", "₺": "TRY",
	"euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "bucks": "USD", "pound": "GBP", "pounds": "GBP", "quid": "GBP", "yen": "JPY",
}

// ambiguousSymbols maps a currency to the better-known currency with the same sign or name.
var ambiguousSymbols = map[string]string{
	"CAD": "USD", "AUD": "USD", "NZD": "USD", "SGD": "USD", "HKD": "USD", "TWD": "USD", "MXN": "USD", "EGP": "GBP", "CNY": "JPY",
}

// parseCurrency parses a currency given as an ISO code, a sign or a common word.
func parseCurrency(s, otherwise string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return otherwise, nil
	}
	if c, ok := currencySymbols[strings.ToLower(s)]; ok {
		// the user's own dollar or pound takes precedence over the best-known currency with this
		// name
		if ambiguousSymbols[otherwise] == c {
			return otherwise, nil
		}
		return c, nil
	}
	c := strings.ToUpper(s)
	if len(c) != 3 || strings.Trim(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", tools.Errorf(tools.InvalidArguments, "%q is not a currency; use a code such as EUR or USD", tools.Clean(s))
	}
	return c, nil
}

// minorOf converts a JSON number to the currency's smallest unit. It does not round: it rejects
// amounts that the currency cannot express.
func minorOf(amount, currency string) (int64, error) {
	d := minorDigits(currency)
	whole, frac, _ := strings.Cut(amount, ".")
	if strings.ContainsAny(amount, "eE+-") || whole == "" {
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s must be a plain positive number such as 12.50", tools.Clean(amount))
	}
	frac = strings.TrimRight(frac, "0")
	if len(frac) > d {
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s has more decimals than %s allows (%d)", tools.Clean(amount), tools.Clean(currency), d)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", d-len(frac)), 10, 64)
	if err != nil {
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s is not a number such as 12.50", tools.Clean(amount))
	}
	if n <= 0 || n > maxAmount*100 {
		return 0, tools.Errorf(tools.InvalidArguments, "amount %s must be more than 0 and at most 1,000,000,000", tools.Clean(amount))
	}
	return n, nil
}

// formatDecimal formats an amount in the smallest unit as an exact decimal.
func formatDecimal(minor int64, currency string) string {
	d := minorDigits(currency)
	if d == 0 {
		return strconv.FormatInt(minor, 10)
	}
	s := fmt.Sprintf("%0*d", d+1, minor)
	return s[:len(s)-d] + "." + s[len(s)-d:]
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
		e.Amount, e.CreatedAt = formatDecimal(e.minor, e.Currency), store.Time(created)
		out = append(out, e)
	}
	return out, rows.Err()
}

// normalizeCategory normalizes a category name.
func normalizeCategory(s string) string {
	return strings.ToLower(textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), 60))
}
