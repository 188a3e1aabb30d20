package service

import (
	"context"
	"encoding/json"
	"errors"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/skills"
	"hob/autonomy/undo"
	"hob/platform/store"
	"hob/templates"
	"hob/tools"
)

// JournaledTools returns the tools that undo the choice of a template and the addition of a skill. They
// are not in the catalog, because only the user makes these changes. service returns the service, which
// must exist before the first undo.
func JournaledTools(service func() *Service) []tools.Tool {
	return []tools.Tool{
		journaledTool(templates.ChangeTool, "Change the template.", func(ctx context.Context, c templateChange) (string, error) {
			return service().undoTemplate(ctx, c)
		}),
		journaledTool(skills.ChangeTool, "Add a skill.", func(ctx context.Context, x api.TrustedItem) (string, error) {
			return service().undoSkill(ctx, x)
		}),
	}
}

func journaledTool[T any](name, about string, revert func(context.Context, T) (string, error)) tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{Name: name, Category: "system", Effects: tools.Write, Description: about, Keywords: "settings"},
		Run: func(context.Context, tools.Call, struct{}) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "only the user can do this, with a command or on the page Settings or Channels")
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var change T
			if err := json.Unmarshal(data, &change); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			return revert(ctx, change)
		},
	})
}

// undoOrigin is the origin of a template change that is an undo, which is not recorded as an action.
const undoOrigin = "undo"

// templateChange is the undo record of a change of the template; "" stands for none.
type templateChange struct{ Was, Now string }

// journalTemplateTx records that the user chose another template, so that the choice can be undone.
func (sv *Service) journalTemplateTx(tx *store.Tx, c templateChange, origin string) error {
	if c.Was == c.Now || origin == undoOrigin {
		return nil
	}
	text, label := "Switched to the template "+c.Now, "return to the template "+c.Was
	if c.Now == "" {
		text = "Stopped using the template " + c.Was
	}
	if c.Was == "" {
		label = "stop using the template " + c.Now
	}
	if origin == "api" { // a command
		origin = "cli"
	}
	return sv.o.Undo.JournalTx(tx, undo.Action{Event: bus.NewID(), Number: 1, Tool: templates.ChangeTool, Text: text, Source: origin, Actor: "owner", Rule: "the owner's own command", Undo: tools.NewUndo(label, c)})
}

// undoTemplate returns to the template before a change, unless the user has chosen another one since.
func (sv *Service) undoTemplate(ctx context.Context, c templateChange) (text string, err error) {
	err = sv.withTemplatePlan(ctx, c.Was, undoOrigin, func(h *templates.Installation, p *templates.Plan, _ *templates.Template) error {
		if p.Was != c.Now {
			return tools.Errorf(tools.Conflict, "another template was chosen since; see: hob template list")
		}
		if _, _, err := h.Apply(ctx, p); err != nil {
			return err
		}
		text = "You use the template " + c.Was + " again."
		if c.Was == "" {
			text = "You no longer use the template " + c.Now + "."
		}
		if p.Config.Diff != "" && sv.ApplyConfig() {
			text += " Hob restarts to apply it."
		}
		return nil
	})
	if errors.Is(err, templates.ErrNoneInUse) {
		return "", tools.Errorf(tools.Conflict, "no template is in use; see: hob template list")
	}
	return text, toolFailure(err)
}

// journalSkillTx records that the user added a skill, so that the addition can be undone.
func (sv *Service) journalSkillTx(tx *store.Tx, event string, number int, x api.TrustedItem, untrusted bool) error {
	name := graphicText(x.Name, 300)
	text := "Added the skill " + name
	if untrusted {
		text += ", which is not trusted yet"
	}
	return sv.o.Undo.JournalTx(tx, undo.Action{Event: event, Number: number, Tool: skills.ChangeTool, Text: text, Source: "cli", Actor: "owner", Rule: "the owner's own command", Undo: tools.NewUndo("remove the skill "+name, x)})
}

// undoSkill removes an added skill, unless its files have changed.
func (sv *Service) undoSkill(ctx context.Context, x api.TrustedItem) (string, error) {
	h := skills.Home{Paths: sv.o.Paths}
	s, err := h.Library().Get(x.Name)
	switch {
	case errors.Is(err, skills.ErrNotFound):
		return "The skill " + x.Name + " was already removed.", nil
	case err != nil:
		return "", toolFailure(err)
	case s.Digest != x.Digest:
		return "", tools.Errorf(tools.Conflict, "the files of the skill changed since it was added; to delete them, run: hob skill remove %s", x.Name)
	}
	return "Removed the skill " + x.Name + ".", toolFailure(h.Remove(ctx, x.Name))
}

// toolFailure marks an error of this package as Hob's own text.
func toolFailure(err error) error {
	if _, is := errors.AsType[*tools.Error](err); is || err == nil {
		return err
	}
	return tools.Errorf(tools.Failed, "%w", err)
}
