package money

import "hob/platform/store/erase"

// Eraser returns the eraser that removes phrases from the expenses.
func Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "expenses", Key: []string{"id"}, Text: []string{"category", "vendor", "note"}, Kind: kindExpense, Ref: "id"},
			{Name: "budgets", Key: []string{"category", "period", "currency"}, Names: []string{"category"}},
			{Name: "recurring_costs", Key: []string{"id"}, Names: []string{"name"}, Text: []string{"category"}},
		},
		Besides: []string{"expense_imports"},
	}
}
