package memory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type rememberIn struct {
	Text string `json:"text" jsonschema:"in the user's words"`
	Kind string `json:"kind,omitempty" jsonschema:"preference, procedure, event, decision"`
	// Until is the last day of an event.
	Until string `json:"until,omitempty"`
}

// rememberOut is the Data of remember.
type rememberOut struct {
	Fact    knowledge.Fact   `json:"fact"`
	Known   bool             `json:"known,omitempty"`
	Retired []knowledge.Fact `json:"retired,omitempty"`
}

// factUndo contains the text so that forgetting the fact also deletes the undo data and its label.
type factUndo struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
}

// shownFact returns a fact in quotation marks, without credentials.
func shownFact(text string) string {
	shown, ok := credential.Viewer{}.Show("", text)
	if !ok {
		shown = credential.Mark
	}
	return quoteLine(textnorm.Ellipsize(shown, 100))
}

// isTypedFact reports whether a fact is, word for word, all that the user wrote in this turn after a
// request such as "remember that". It then comes from the user, whatever else is in context: no model
// chose its words.
func isTypedFact(fact, typed string) bool {
	words, said := textnorm.FoldedWords(fact), textnorm.FoldedWords(typed)
	start := len(said) - len(words)
	if len(words) < 2 || start < 0 || !slices.Equal(said[start:], words) {
		return false
	}
	return !slices.ContainsFunc(said[:start], func(w string) bool {
		return !slices.Contains([]string{"please", "hob", "hey", "can", "could", "you", "also", "and", "remember", "note", "keep", "in", "mind", "that"}, w)
	})
}

func (d Deps) rememberTool() tools.Tool {
	return tools.New(tools.Def[rememberIn]{
		Spec: tools.Spec{
			Name: "remember", Category: "memory", Effects: tools.Write, Core: true,
			Description: "Remember a fact, lasting or until a day.",
			Keywords:    "memorise keep in mind note fact preference save",
		},
		Summary: func(in rememberIn) string { return "Remember " + quoteLine(textnorm.Ellipsize(in.Text, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in rememberIn) (tools.Result, error) {
			if kind := credential.Sensitive(in.Text); kind != "" && len(c.OwnerWords) > 0 && !asksToKeep(c.OwnerWords) {
				return tools.Result{}, &tools.Error{
					Source: provenance.Tool, Code: tools.PolicyDenied, Message: "remember: the text contains " + kind + ", and the user did not ask to keep it",
					Remedy: "hob secret set NAME stores it encrypted; to keep it as plain text, the user says \"remember that ...\"",
				}
			}
			if knowledge.IsQuestion(in.Text) && !asksToKeep(c.OwnerWords) {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "remember: the text is a question; remember only what the user states")
			}
			end, err := endOfDay(in, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			src, origins := callProvenance(c), c.Origins
			if isTypedFact(in.Text, c.Typed) {
				src, origins = provenance.Owner, nil
			}
			r, err := d.Knowledge.RememberTx(tx, knowledge.Fact{
				Text: in.Text, Kind: in.Kind, ValidUntil: end, Provenance: src, Origins: origins, Event: c.Event, Realm: c.Realm, CreatedAt: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			out := tools.Result{Source: provenance.Tool, Data: rememberOut{Fact: r.Fact, Known: r.Known, Retired: r.Retired}}
			out.Source = sourceOf(append([]knowledge.Fact{r.Fact}, r.Retired...), factSource)
			if r.Known {
				out.Text = "Already known: " + quoteLine(r.Fact.Text) + "."
				return out, nil
			}
			out.Text = "I will remember " + quoteLine(r.Fact.Text) + "."
			if !end.IsZero() {
				out.Text += " It expires after " + dateparse.FormatDay(end.AddDate(0, 0, -1), c.Now) + "."
			}
			for _, o := range r.Retired {
				if o.RetiredAt.IsZero() { // the old value remains valid until the new one starts
					out.Text += " From " + dateparse.FormatDay(o.ValidUntil.In(c.Now.Location()), c.Now) + " on, it replaces " + quoteLine(o.Text) + "."
					continue
				}
				out.Text += " It replaces " + quoteLine(o.Text) + "."
			}
			out.Undo = tools.NewUndo("remove the fact "+shownFact(r.Fact.Text), factUndo{r.Fact.ID, r.Fact.Text})
			return out, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var u factUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			f, err := d.Knowledge.Fact(tx, u.ID)
			if err == nil {
				err = d.Knowledge.UndoRememberTx(tx, u.ID)
			}
			if errors.Is(err, knowledge.ErrNotFound) {
				return "", tools.Errorf(tools.NotFound, "this fact was forgotten or corrected")
			}
			return "Removed the fact " + shownFact(f.Text) + ".", err
		},
	})
}

// endOfDay returns the end of the day in Until, or the zero time. Only an event has one.
func endOfDay(in rememberIn, now time.Time) (time.Time, error) {
	if in.Until == "" {
		return time.Time{}, nil
	}
	if in.Kind != knowledge.KindEvent {
		return time.Time{}, tools.Errorf(tools.InvalidArguments, "remember: until is set, but only an event ends; set kind to event")
	}
	m, err := dateparse.Parse(in.Until, now)
	if err != nil {
		return time.Time{}, tools.Errorf(tools.InvalidArguments, "remember: until: %w", err)
	}
	y, mo, d := m.Time.Date()
	return time.Date(y, mo, d+1, 0, 0, 0, 0, now.Location()), nil
}

// keepWords are folded words that ask to keep something, in the languages of package triples.
var keepWords = sync.OnceValue(func() []string {
	return strings.Fields("remember memorise memorize keep store save note forget write merk merke merken notiere speichere retiens souviens note enregistre recuerda anota guarda ricorda salva zapamietaj isimink")
})

// asksToKeep reports whether one of the user's messages asks to keep something.
func asksToKeep(messages []string) bool {
	return slices.ContainsFunc(messages, func(m string) bool {
		return slices.ContainsFunc(textnorm.FoldedWords(m), func(w string) bool { return slices.Contains(keepWords(), w) })
	})
}
