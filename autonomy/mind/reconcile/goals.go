package reconcile

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hob/autonomy/mind/goals"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/templates"
)

// ownGoal is the source of a goal that came from a template and that the owner then changed.
const ownGoal = "cli"

// reconcileGoals makes the goals from templates match the desired goals. As for watchers, the id is
// derived from the content and therefore reveals changes by the user.
func (r *run) reconcileGoals(tx *store.Tx) error {
	wanted := map[string]goals.Goal{}
	var order []string
	for _, x := range r.w.Goals {
		g := goals.Goal{
			Description: strings.TrimSpace(x.Description), Priority: cmp.Or(x.Priority, goals.NormalPriority), Success: strings.TrimSpace(x.Success), Source: r.w.Source,
			Provenance: provenance.Outside, CreatedAt: r.now, Every: int64(goals.DefaultEvery / time.Second),
		}
		if r.w.Trusted {
			g.Provenance = provenance.Hob
		}
		if d, err := time.ParseDuration(x.CheckEvery); err == nil {
			g.Every = int64(d / time.Second)
		}
		g.ID = goalID(g)
		if _, twice := wanted[g.ID]; !twice {
			order = append(order, g.ID)
		}
		wanted[g.ID] = g
	}
	current, err := goals.ListIn(tx, true)
	if err != nil {
		return err
	}
	for _, g := range current {
		if err := r.reconcileGoal(tx, g, wanted); err != nil {
			return err
		}
	}
	for _, id := range order {
		g, open := wanted[id]
		if !open {
			continue
		}
		made, err := r.o.Goals.CreateTx(tx, g)
		if errors.Is(err, goals.ErrInvalid) {
			t := goalResource(g)
			t.Why = strings.TrimPrefix(err.Error(), goals.ErrInvalid.Error()+": ")
			r.done.Failed = append(r.done.Failed, t)
			continue
		}
		if err != nil {
			return err
		}
		r.done.Made = append(r.done.Made, goalResource(made))
	}
	return nil
}

// reconcileGoal reconciles one existing goal. If the goal stays, it is removed from wanted.
func (r *run) reconcileGoal(tx *store.Tx, g goals.Goal, wanted map[string]goals.Goal) error {
	_, wants := wanted[g.ID]
	t := goalResource(g)
	switch {
	case !strings.HasPrefix(g.Source, templates.SourceOf("")):
		if wants { // the user changed it, so it no longer belongs to the template
			t.Why = "it already exists and is " + g.Status
			r.done.Kept = append(r.done.Kept, t)
			delete(wanted, g.ID)
		}
		return nil
	case wants && g.Source == r.w.Source && g.ID == goalID(g):
		delete(wanted, g.ID) // unchanged, whether paused or not
		return nil
	case g.ID != goalID(g):
		t.Why = "you changed it"
	case g.Status == string(goals.Paused):
		t.Why = "you paused it"
	default:
		_, err := r.o.Goals.DropTx(tx, g.ID)
		r.done.Removed = append(r.done.Removed, t)
		return err
	}
	r.done.Kept = append(r.done.Kept, t)
	delete(wanted, g.ID)
	g.Source = ownGoal
	return r.o.Goals.PutTx(tx, g)
}

func goalResource(g goals.Goal) templates.Resource {
	return templates.Resource{What: "goal", ID: g.ID, Text: g.Name()}
}

// goalID returns the id of an unchanged template goal. Notes from reviews do not count as changes.
func goalID(g goals.Goal) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b, err := json.Marshal([]any{g.Source, g.Description, g.Priority, g.Success, g.Every, g.Report, g.Agent})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	out := []byte("g")
	for _, c := range sum[:9] {
		out = append(out, alphabet[c&31])
	}
	return string(out)
}
