package service

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy"
	"hob/autonomy/api"
)

// Why implements api.Explanations.
func (sv *Service) Why(ctx context.Context, kind, about string) (api.Explanation, error) {
	x, err := sv.o.Loop.Explain(ctx, autonomy.Question{Kind: kind, About: about})
	if errors.Is(err, autonomy.ErrUnclear) {
		return api.Explanation{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Explanation{}, Classify(err)
	}
	out := api.Explanation{Text: x.Text(sv.o.Zone())}
	switch x := x.(type) {
	case autonomy.Why:
		out.Why = ConvertPtr(&x, apiWhy)
	case autonomy.Tick:
		out.Tick = ConvertPtr(&x, apiTick)
	case autonomy.SilenceReport:
		out.Silence = ConvertPtr(&x, apiSilence)
	}
	return out, nil
}
