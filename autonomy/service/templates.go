package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/turn/prompt"
	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/templates"
)

// OpenTemplates returns the installation that applies and resets the templates of a home. store
// stores their goals, schedules and watchers.
func OpenTemplates(p system.Paths, store templates.ResourceStore) (*templates.Installation, error) {
	name := "Hob"
	if cfg, err := config.Load(p.ConfigFile()); err == nil {
		name = cfg.Agent.Name
	}
	persona, err := prompt.Persona(name)
	if err != nil {
		return nil, err
	}
	return templates.NewHome(templates.Options{
		Dir: p.TemplateState(), Config: p.ConfigFile(), Soul: p.SoulFile(), Persona: persona,
		Editor: config.Text{}, Things: store, Write: system.WriteFile, Step: failpoint.Hit,
	})
}

// templateStore implements templates.ResourceStore for the tray and the page.
type templateStore struct {
	*Service

	origin string
}

// Reconcile implements templates.ResourceStore.
func (s templateStore) Reconcile(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error) {
	return s.applyTemplate(ctx, w, s.origin)
}

// withTemplatePlan runs fn with the plan of applying a built-in template, or of resetting the active
// one if name is "", while nothing else can change templates. t is nil for a reset.
func (sv *Service) withTemplatePlan(ctx context.Context, name, origin string, fn func(h *templates.Installation, p *templates.Plan, t *templates.Template) error) error {
	paths := sv.o.Paths
	lock, err := system.Acquire(ctx, filepath.Join(paths.TemplateState(), "lock"), system.RoleCLI)
	if err != nil {
		return fmt.Errorf("another command is changing templates: %w", err)
	}
	defer func() { _ = lock.Release() }() // the end of the process also releases the lock
	var t *templates.Template
	if name != "" {
		if t, err = (templates.Registry{Dir: paths.TemplatesDir()}).Find(name); err != nil {
			return err
		}
		if t.Origin != templates.Builtin {
			return fmt.Errorf("%s is not built in, so read it before you apply it; run: hob template use %s", name, name)
		}
	}
	h, err := OpenTemplates(paths, templateStore{sv, origin})
	if err != nil {
		return err
	}
	if _, _, err := h.Finish(ctx); err != nil {
		return fmt.Errorf("an interrupted template change cannot be completed: %w", err)
	}
	p, err := h.Plan(ctx, t)
	if err != nil {
		return err
	}
	return fn(h, p, t)
}

// previewLines describes everything that applying a built-in template changes, or a reset if t is nil.
func previewLines(p *templates.Plan, t *templates.Template) []string {
	var out []string
	if t == nil {
		out = append(out, "ends "+p.Was)
	} else {
		out = append(out, t.Description)
	}
	if t != nil && p.Was != "" && p.Was != t.Name {
		out = append(out, "replaces "+p.Was)
	}
	if n := p.Soul.ChangedLines(); n > 0 {
		out = append(out, fmt.Sprintf("changes the personality in SOUL.md (%d lines)", n))
	}
	return append(out, p.Lines()...)
}

// PreviewTemplate implements tray.Assistant.
func (a TrayAssistant) PreviewTemplate(ctx context.Context, name string) (lines []string, err error) {
	err = a.service().withTemplatePlan(ctx, name, TrayOrigin, func(_ *templates.Installation, p *templates.Plan, t *templates.Template) error {
		lines = previewLines(p, t)
		return nil
	})
	return lines, err
}

// Templates implements api.PageSetup. Templates that cannot be read are left out.
func (sv *Service) Templates(context.Context) ([]api.Template, error) {
	list, err := templates.Registry{Dir: sv.o.Paths.TemplatesDir()}.List()
	if err != nil {
		return nil, err
	}
	used, err := templates.InUse(sv.o.Paths.TemplateState())
	if err != nil && !errors.Is(err, templates.ErrNoneInUse) {
		return nil, err
	}
	var out []api.Template
	for _, t := range list {
		if t.Err == nil {
			out = append(out, api.Template{Name: t.Name, Description: t.Description, InUse: t.Name == used.Name, Builtin: t.Origin == templates.Builtin})
		}
	}
	return out, nil
}

// PreviewTemplate implements api.PageSetup.
func (sv *Service) PreviewTemplate(ctx context.Context, name string) (lines []string, err error) {
	err = sv.withTemplatePlan(ctx, name, PageOrigin, func(_ *templates.Installation, p *templates.Plan, t *templates.Template) error {
		lines = previewLines(p, t)
		return nil
	})
	return lines, classifyTemplate(err)
}

// UseTemplate implements api.PageSetup.
func (sv *Service) UseTemplate(ctx context.Context, name string, preview []string) error {
	return classifyTemplate(sv.withTemplatePlan(ctx, name, PageOrigin, func(h *templates.Installation, p *templates.Plan, t *templates.Template) error {
		if !slices.Equal(previewLines(p, t), preview) {
			return errNewPreview
		}
		if _, _, err := h.Apply(ctx, p); err != nil {
			return err
		}
		if p.Config.Diff != "" {
			sv.ApplyConfig()
		}
		return nil
	}))
}

// classifyTemplate converts the errors of templates to the error classes of the API.
func classifyTemplate(err error) error {
	switch {
	case errors.Is(err, templates.ErrNotFound), errors.Is(err, templates.ErrNoneInUse):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, errNewPreview), errors.Is(err, templates.ErrChanged):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	}
	return err
}

// errNewPreview means that a template would change something else than its preview said.
var errNewPreview = errors.New("the changes are different from the preview; choose the template again")

// SwitchTemplate implements tray.Assistant. A template changes what Hob may do, so it needs the same
// proofs as an approval.
func (a TrayAssistant) SwitchTemplate(ctx context.Context, name string, preview []string, shown time.Time) (said string, err error) {
	if ok, err := a.HasNoSubprocess(); !ok {
		return "", errors.Join(ErrForeignPress, err)
	}
	if a.isTooQuick(shown) {
		return "", channels.ErrQuick
	}
	err = a.service().withTemplatePlan(ctx, name, TrayOrigin, func(h *templates.Installation, p *templates.Plan, t *templates.Template) error {
		if !slices.Equal(previewLines(p, t), preview) {
			return errNewPreview
		}
		_, _, err := h.Apply(ctx, p)
		if err != nil {
			return err
		}
		said = "The template " + name + " is in use. Revert with: hob template reset"
		if restart := a.service().o.Restart; restart != nil && p.Config.Diff != "" {
			said = "The template " + name + " is in use. I restart to apply its settings."
			restart()
		}
		return nil
	})
	return said, err
}
