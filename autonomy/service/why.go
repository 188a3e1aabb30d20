package service

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/explain"
)

// Why implements api.Explanations.
func (sv *Service) Why(ctx context.Context, kind, about string) (api.Explanation, error) {
	x, err := sv.o.Explain.Explain(ctx, explain.Question{Kind: kind, About: about})
	if errors.Is(err, explain.ErrUnclear) {
		return api.Explanation{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Explanation{}, Classify(err)
	}
	out := api.Explanation{Text: x.Text(sv.o.Zone())}
	switch x := x.(type) {
	case explain.Why:
		out.Why = ConvertPtr(&x, apiWhy)
	case explain.Tick:
		out.Tick = ConvertPtr(&x, apiTick)
	case explain.SilenceReport:
		out.Silence = ConvertPtr(&x, apiSilence)
	}
	return out, nil
}
