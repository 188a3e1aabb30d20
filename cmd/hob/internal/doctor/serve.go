package doctor

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/api"
)

// Examiner runs the checks in the daemon. It implements service.Examiner.
type Examiner struct {
	env    func() (Env, error)
	redact func(string) string
	busy   chan struct{} // holds one value while the checks run
}

// NewExaminer returns an Examiner. env returns the environment of one run, redact removes secrets.
func NewExaminer(env func() (Env, error), redact func(string) string) *Examiner {
	return &Examiner{env: env, redact: redact, busy: make(chan struct{}, 1)}
}

// Examine implements api.Doctor. Runs are serialized, because checks start programs and call
// servers.
func (x *Examiner) Examine(ctx context.Context, names []string, fix bool, step func(api.Finding)) error {
	select {
	case x.busy <- struct{}{}:
		defer func() { <-x.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	e, err := x.env()
	if err != nil {
		return err
	}
	_, err = Run(ctx, e, Options{Names: names, Fix: fix, In: "daemon", Each: func(c Check) {
		c.Cause, c.Remedy = x.redact(c.Cause), x.redact(c.Remedy)
		step(apiFinding(c))
	}})
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return err
}

func apiFinding(x Check) api.Finding {
	return api.Finding{
		Name: x.Name, State: string(x.State), Cause: x.Cause, Remedy: x.Remedy, Link: x.Link, Fixable: x.Fixable, Fixed: x.Fixed, In: x.In,
	}
}
