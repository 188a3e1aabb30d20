package money

import (
	"strings"
	"testing"
)

// TestLogExpense_FollowsTheLastCurrency checks expenses without a currency if neither the configuration nor the system
// tells the user's own.
func TestLogExpense_FollowsTheLastCurrency(t *testing.T) {
	b := newBench(t)
	b.d.Currency = func() string { return "" }
	b.loadTools()
	b.mustCall("log_expense", object{"amount": 14, "currency": "USD", "category": "tacos"})
	if r := b.mustCall("log_expense", object{"amount": 38.5, "category": "gas"}); !strings.Contains(r.Text, "38.50 USD") {
		t.Errorf("after an expense in dollars: %s, want 38.50 USD", r.Text)
	}
	b.d.Currency = func() string { return "GBP" }
	b.loadTools()
	if r := b.mustCall("log_expense", object{"amount": 2, "category": "tea"}); !strings.Contains(r.Text, "2.00 GBP") {
		t.Errorf("with an own currency: %s, want 2.00 GBP", r.Text)
	}
}
