package main

import (
	"context"
	"errors"
	"fmt"

	"hob/platform/host/system"
	"hob/templates"
)

// templateConsent holds the approvals given by flags.
type templateConsent struct{ yes, trust, diff bool }

func (a *cli) useTemplate(ctx context.Context, ref string, given templateConsent) error {
	return a.withTemplateLock(ctx, func(p system.Paths, h *templates.Installation) error {
		t, err := templateShelf(p).Find(ref)
		if err != nil {
			return templateError(err)
		}
		plan, err := h.Plan(ctx, t)
		if err != nil {
			return templateError(err)
		}
		return a.carryOut(ctx, p, h, plan, t, given)
	})
}

func (a *cli) resetTemplate(ctx context.Context, yes bool) error {
	return a.withTemplateLock(ctx, func(p system.Paths, h *templates.Installation) error {
		plan, err := h.Plan(ctx, nil)
		if errors.Is(err, templates.ErrNoneInUse) {
			if a.asJSON {
				return a.printJSON(map[string]any{"applied": false, "was": ""})
			}
			fmt.Fprintln(a.out, "No template is active; nothing was changed.")
			return nil
		}
		if err != nil {
			return templateError(err)
		}
		return a.carryOut(ctx, p, h, plan, nil, templateConsent{yes: yes})
	})
}

// templateError adds the remedy to an error.
func templateError(err error) error {
	if errors.Is(err, templates.ErrNotFound) || errors.Is(err, templates.ErrInvalid) {
		return &failure{code: exitFailed, err: err, cause: err.Error(), remedy: "nothing was changed; see: hob template list"}
	}
	return err
}

// templateResult is the output of use and reset with --json.
type templateResult struct {
	*templates.Plan
	Applied bool     `json:"applied"`
	Kept    []string `json:"kept_files"`
	Asks    []string `json:"asks,omitempty"`
	Marks   []string `json:"marks"` // parts of the template's text that look like an attack
}

func (a *cli) carryOut(ctx context.Context, p system.Paths, h *templates.Installation, plan *templates.Plan, t *templates.Template, given templateConsent) error {
	out := templateResult{Plan: plan, Kept: []string{}, Marks: suspiciousPatterns(t)}
	if t != nil {
		out.Asks = t.Asks()
	}
	if !a.asJSON {
		a.printPreview(plan, t, given.diff || isForeign(t))
	}
	doubtful := !given.trust && soulLooksBad(t)
	if a.asJSON && !given.yes {
		return a.printJSON(out)
	}
	if !given.yes || doubtful {
		ok, err := a.confirmPlan(ctx, plan, doubtful)
		if err != nil || !ok {
			return err
		}
	}
	done, kept, err := h.Apply(ctx, plan)
	if err != nil {
		return err
	}
	out.Applied, out.Things = true, done
	out.Kept = append(out.Kept, kept...)
	if a.asJSON {
		return a.printJSON(out)
	}
	a.printApplied(plan, done, kept)
	a.edited = a.edited || plan.Config.Diff != ""
	return a.restartToApply(ctx, p)
}

// confirmPlan asks on a terminal. Without a terminal it fails and explains how to answer. A
// personality that looks like an attack would become part of every conversation, so a single key
// press is not sufficient.
func (a *cli) confirmPlan(ctx context.Context, plan *templates.Plan, doubtful bool) (bool, error) {
	what := "Apply the template " + plan.Template + "?"
	if plan.Template == "" {
		what = "Reset the template " + plan.Was + "?"
	}
	ask := a.yesOrNo
	if doubtful {
		what = "The SOUL.md of the template looks like an attack on the model. " + what
		ask = a.typedYes
	}
	ok, asked, err := ask(ctx, what)
	if err == nil && !asked && doubtful {
		return false, &failure{code: exitDenied, cause: "nothing was changed: the SOUL.md of the template looks like an attack on the model, and --yes alone does not accept it", remedy: "read the file; if you trust it, add --yes --trust to hob template use"}
	}
	if err == nil && !asked {
		return false, &failure{code: exitDenied, cause: "nothing was changed, because confirmation needs a terminal", remedy: "check the preview above and confirm with: --yes"}
	}
	if err == nil && !ok {
		fmt.Fprintln(a.err, "Nothing was changed.")
	}
	return ok, err
}
