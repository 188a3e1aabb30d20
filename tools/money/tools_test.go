package money

import (
	"strings"
	"testing"

	"hob/tools"
)

// The schema declares the amount as a number. Calls with any other type are rejected.
func TestAddExpense_AmountIsANumber(t *testing.T) {
	for _, x := range Tools(Deps{}) {
		if x.Spec().Name != "log_expense" {
			continue
		}
		if !strings.Contains(string(x.Spec().Schema.Raw()), `"amount":{"type":"number"`) {
			t.Errorf("schema: %s", x.Spec().Schema.Raw())
		}
		if err := tools.Check(x, []byte(`{"amount":12.50,"category":"lunch"}`)); err != nil {
			t.Error(err)
		}
		if err := tools.Check(x, []byte(`{"amount":"12,50"}`)); err == nil {
			t.Error("Check accepts a string as the amount")
		}
	}
}
