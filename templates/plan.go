package templates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Plan describes the changes of an installation or reset of a template; Apply performs them.
type Plan struct {
	Template string `json:"template"` // "" means a reset
	Was      string `json:"was"`      // template that is in use at present, or ""
	// Settings are the configuration keys that the template sets.
	Settings []Change `json:"settings"`
	// Conflicts are edits of the owner that cannot be reconciled with the reset.
	Conflicts []Conflict  `json:"conflicts"`
	Things    ApplyResult `json:"things"`

	Config FilePlan `json:"config"`
	Soul   FilePlan `json:"soul"`

	state  State
	wanted DesiredState
	keep   map[string]string // text of each copy to save, keyed by file name
}

// FilePlan describes the planned change of one file.
type FilePlan struct {
	Path string `json:"path"`
	Diff string `json:"diff"` // "" if unchanged
	pair fileChange
}

// Change is the change of one configuration key.
type Change struct {
	Key string `json:"key"`
	Was string `json:"was"` // effective value before the change
	Now string `json:"now"`
	// Yours is true if the owner's configuration file already sets the key.
	Yours bool `json:"yours"`
	// Stays explains why the template's value is not applied; "" if it is applied.
	Stays string `json:"stays,omitempty"`
}

// Conflict describes an edit that cannot be merged and how it is handled.
type Conflict struct {
	File string `json:"file"`
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
}

// ErrNoneInUse is returned if there is no template to reset.
var ErrNoneInUse = errors.New("no template is in use")

// ErrChanged is returned if a file changed between the preview and the approval.
var ErrChanged = errors.New("files changed since the preview; run the preview again")

// Plan previews the changes of installing t, or of a reset if t is nil. It writes nothing. It fails
// if a previous change is unfinished.
func (h *Installation) Plan(ctx context.Context, t *Template) (*Plan, error) {
	s, err := h.State()
	if err != nil {
		return nil, err
	}
	if t == nil && s.Name == "" {
		return nil, ErrNoneInUse
	}
	p := &Plan{Was: s.Name, keep: map[string]string{}, Settings: []Change{}, Conflicts: []Conflict{}}
	config, err := h.takeBackConfig(s, p)
	if err != nil {
		return nil, err
	}
	soul, err := h.takeBackSoul(s, p)
	if err != nil {
		return nil, err
	}
	if t != nil {
		err = h.layOn(t, p, config, soul)
	} else {
		p.Config.pair.After, p.Soul.pair.After = config, soul
		p.state = State{At: h.opt.Now()}
	}
	if err != nil {
		return nil, err
	}
	if err := h.opt.Editor.Check([]byte(textOf(p.Config.pair.Before)), []byte(textOf(p.Config.pair.After))); err != nil {
		return nil, fmt.Errorf("the changed configuration would be invalid: %w", err)
	}
	p.Config.Path, p.Soul.Path = h.opt.Config, h.opt.Soul
	p.Config.Diff = Diff(filepath.Base(h.opt.Config), textOf(p.Config.pair.Before), textOf(p.Config.pair.After), 0)
	p.Soul.Diff = Diff(filepath.Base(h.opt.Soul), textOf(p.Soul.pair.Before), textOf(p.Soul.pair.After), 3)
	w := p.wanted
	w.Dry = true
	p.Things, err = h.opt.Things.Reconcile(ctx, w)
	return p, err
}

// layOn adds the template's settings and personality to the user's files.
func (h *Installation) layOn(t *Template, p *Plan, config, soul *string) error {
	p.Template = t.Name
	p.wanted = DesiredState{Source: t.Source(), Trusted: t.Origin == Builtin, Goals: t.Goals, Schedules: t.Schedules, Watchers: t.Watchers}
	now := []byte(textOf(config))
	for _, s := range t.Config {
		v, set, err := h.opt.Editor.Value(now, s.Key)
		if err != nil {
			return err
		}
		c := Change{Key: s.Key, Was: fmt.Sprint(v), Now: s.Value, Yours: set}
		switch {
		case isLooser(s.Key, s.Value, v):
			c.Stays = "your value is stricter"
		default:
			if now, err = h.opt.Editor.Set(now, s.Key, s.Value); err != nil {
				return fmt.Errorf("%w: %w", ErrInvalid, err)
			}
		}
		p.Settings = append(p.Settings, c)
	}
	p.Config.pair.After = config
	if string(now) != textOf(config) {
		s := string(now)
		p.Config.pair.After = &s
	}
	p.Soul.pair.After = soul
	if t.Soul != "" {
		p.Soul.pair.After = &t.Soul
	}
	p.state = State{
		Name: t.Name, Version: t.Version, Origin: t.Origin, Path: t.Path, At: h.opt.Now(),
		Config: fileChange{config, p.Config.pair.After}, Soul: fileChange{soul, p.Soul.pair.After},
		Skills: t.Bodies,
	}
	return nil
}

// Apply performs the plan. If it fails after it has started, the next Finish completes the plan.
func (h *Installation) Apply(ctx context.Context, p *Plan) (ApplyResult, []string, error) {
	for path, want := range map[string]*string{h.opt.Config: p.Config.pair.Before, h.opt.Soul: p.Soul.pair.Before} {
		now, err := readText(path)
		if err != nil {
			return ApplyResult{}, nil, err
		}
		if !isEqualText(now, want) {
			return ApplyResult{}, nil, ErrChanged
		}
	}
	if s, err := h.State(); err != nil || s.Name != p.Was {
		return ApplyResult{}, nil, errors.Join(err, ErrChanged)
	}
	if there, err := h.Pending(); err != nil || there {
		return ApplyResult{}, nil, errors.Join(err, ErrChanged)
	}
	var kept []string
	for _, name := range slices.Sorted(mapKeys(p.keep)) {
		path, err := h.saveCopy(name, p.keep[name])
		if err != nil {
			return ApplyResult{}, kept, err
		}
		kept = append(kept, path)
	}
	j := journal{State: p.state, Config: p.Config.pair, Soul: p.Soul.pair, Wanted: p.wanted}
	b, err := json.Marshal(j)
	if err != nil {
		return ApplyResult{}, kept, err
	}
	if err := os.MkdirAll(h.opt.Dir, 0o700); err != nil {
		return ApplyResult{}, kept, err
	}
	h.opt.Step("template.begin")
	if err := h.opt.Write(h.journalPath(), b); err != nil {
		return ApplyResult{}, kept, err
	}
	done, more, err := h.carryOut(ctx, j)
	return done, append(kept, more...), err
}
