package setup

import (
	"context"
	"errors"
	"fmt"

	"hob/platform/host/permission"
)

// permissionsStep returns the step that handles the missing macOS permissions one after another. It
// writes nothing, because the system stores permissions.
func permissionsStep() Step {
	return Step{
		Name: "permissions", Title: "Permissions", Keys: []string{"permissions"},
		About: "Permissions that macOS requires. For calendars, contacts and other apps, macOS asks when Hob first needs access: allow it then.",
		Shown: func(_ context.Context, o Options) bool { return o.Permissions != nil },
		Next:  nextOfPermissions,
		Apply: func(ctx context.Context, o Options, _ Answers) (d StepResult, err error) {
			list, err := o.missingPermissions(ctx)
			for _, p := range list {
				said := p.Name + " is not granted to " + p.For + " yet."
				if p.Restart {
					said += " If you enabled it, restart Hob to apply it."
				}
				d.Said = append(d.Said, said)
			}
			return d, err
		},
	}
}

// missingPermissions returns the missing permissions.
func (o Options) missingPermissions(ctx context.Context) (out []permission.Permission, err error) {
	if o.Permissions == nil {
		return nil, nil
	}
	list, err := o.Permissions(ctx)
	for _, p := range list {
		if !p.Given {
			out = append(out, p)
		}
	}
	return out, err
}

func nextOfPermissions(ctx context.Context, o Options, a Answers) ([]Question, error) {
	if a.isGiven("permissions") { // an answers file cannot grant permissions
		return nil, nil
	}
	list, err := o.missingPermissions(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		key, done := "permission_"+p.ID, "permission_"+p.ID+"_done"
		switch {
		case !a.isGiven(key):
			return []Question{{
				Key: key, Kind: Choice, Title: p.Name, Default: "open", Options: []Option{{"open", "open System Settings"}, {"later", "not now"}},
				About: fmt.Sprintf("%s Enable it for %s: %s", p.Why, p.For, p.Pane),
			}}, nil
		case a[key] != "open":
		case !a.isGiven(done):
			q := Question{
				Key: done, Kind: Choice, Title: "Is " + p.For + " enabled there?", Default: "done",
				Options: []Option{{"done", "yes, check again"}, {"later", "not now"}},
			}
			if o.Open == nil {
				return []Question{q}, nil
			}
			if err := o.Open(ctx, p.Pane); err != nil {
				q.About = fmt.Sprintf("The settings cannot be opened from here (%v). Open them manually: Privacy and Security, %s.", err, p.Name)
			}
			return []Question{q}, nil
		case a[done] == "done" && !p.Restart:
			return nil, newProblem(errors.New(p.Name+" is not granted to "+p.For+" yet"), false, key, done)
		}
	}
	return nil, nil
}
