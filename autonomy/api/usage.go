package api

import (
	"context"
	"time"
)

// Usage reports the cost of the models.
type Usage interface {
	// Usage sums model calls by day and model.
	Usage(ctx context.Context, q Query) ([]UsageRow, error)
	// Budget returns the cost of today and of this month, with their limits.
	Budget(ctx context.Context) ([]BudgetRow, error)
}

// UsageRow is the usage of one model on one day.
type UsageRow struct {
	Day        string   `json:"day"`
	Model      string   `json:"model"`
	Turns      int      `json:"turns"`
	ModelCalls int      `json:"model_calls"`
	Input      int      `json:"input"`
	Output     int      `json:"output"`
	CacheRead  int      `json:"cache_read"`
	CacheWrite int      `json:"cache_write"`
	CostUSD    *float64 `json:"cost_usd"` // null: no price is known
	Unpriced   int      `json:"unpriced_calls"`
	Estimated  int      `json:"estimated_calls"`
	Local      bool     `json:"local"`
}

// BudgetRow is the cost of one period with its limits.
type BudgetRow struct {
	Period     string    `json:"period"` // day, month
	Which      string    `json:"which"`  // 2026-03-29, 2026-03
	From       time.Time `json:"from"`
	CostUSD    float64   `json:"cost_usd"`    // of calls with a known price
	CountedUSD float64   `json:"counted_usd"` // toward the cap
	CapUSD     *float64  `json:"cap_usd"`     // null: no cap
	Tokens     int       `json:"tokens"`
	CapTokens  *int      `json:"cap_tokens"`
	Calls      int       `json:"model_calls"`
	Unpriced   int       `json:"unpriced_calls"`
	PricesAsOf string    `json:"prices_as_of"`
}

// TokenUsage counts tokens. Known is false if the provider sent no counts.
type TokenUsage struct {
	Input      int  `json:"input"` // all input tokens, including cached ones
	Output     int  `json:"output"`
	CacheRead  int  `json:"cache_read"`
	CacheWrite int  `json:"cache_write"`
	Known      bool `json:"known"`
}
