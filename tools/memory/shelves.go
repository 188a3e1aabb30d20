package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// own is the name that selects Hob's store of notes.
const own = "hob"

// shelfWait is the time limit for reading the notes in the owner's apps.
const shelfWait = 40 * time.Second

// allNotes limits the notes that are read from an app for a search.
const allNotes = 20_000

// AppNote is a note in one of the owner's apps.
type AppNote struct {
	pim.Note
	In string `json:"in"` // name of the app or account
}

func (d Deps) noteApps() []pim.Notes {
	if d.Shelves == nil {
		return nil
	}
	return d.Shelves()
}

// findAppNotes searches the notes of all apps. The error names the apps that could not be read.
func findAppNotes(ctx context.Context, shelves []pim.Notes, words string, limit int) ([]AppNote, error) {
	found, failed := make([][]pim.Note, len(shelves)), make([]error, len(shelves))
	var wg sync.WaitGroup
	for i, s := range shelves {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, shelfWait)
			defer cancel()
			found[i], failed[i] = s.FindNotes(ctx, words, limit)
			if failed[i] != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				failed[i] = fmt.Errorf("%s: no response within %s", s.Name(), shelfWait)
			}
		})
	}
	wg.Wait()
	out := []AppNote{}
	for i, list := range found {
		for _, n := range list {
			out = append(out, AppNote{n, shelves[i].Name()})
		}
	}
	sorting.StableByFunc(out, func(a, b AppNote) int { return b.Changed.Compare(a.Changed) })
	return out[:min(len(out), limit)], tools.JoinSourceErrors(failed)
}

// resolveNoteApp finds a notes app by its name ("apple"), or by the names of the app and one of its
// folders ("apple/Work").
func (d Deps) resolveNoteApp(in string) (s pim.Notes, folder string, err error) {
	where, folder, _ := strings.Cut(strings.TrimSpace(in), "/")
	names := []string{own}
	for _, s := range d.noteApps() {
		if strings.EqualFold(s.Name(), strings.TrimSpace(where)) {
			return s, strings.TrimSpace(folder), nil
		}
		names = append(names, s.Name())
	}
	return nil, "", tools.Errorf(tools.NotFound, "%q is not a source of notes; available: %s", tools.Clean(textnorm.Ellipsize(where, 60)), tools.Clean(strings.Join(names, ", ")))
}

// isForApp reports whether args select one of the owner's apps for a new note.
func (d Deps) isForApp(args json.RawMessage) bool {
	var in createNoteIn
	if json.Unmarshal(args, &in) != nil {
		return false // the schema check reports the error
	}
	return d.elsewhereAt(d.noteTarget(in))
}

// elsewhereAt reports whether a target is one of the owner's apps.
func (Deps) elsewhereAt(in string) bool {
	where, _, _ := strings.Cut(in, "/")
	return strings.TrimSpace(where) != "" && !strings.EqualFold(strings.TrimSpace(where), own)
}

func (d Deps) noteTarget(in createNoteIn) string { return cmp.Or(strings.TrimSpace(in.In), d.NewIn) }

// shelfUndo is the undo data of a note created in an app.
type shelfUndo struct {
	In   string `json:"in"`
	Undo []byte `json:"undo"`
}

func ofShelf(data json.RawMessage) bool {
	var u shelfUndo
	return json.Unmarshal(data, &u) == nil && u.In != ""
}

func shelfOrigins(via string, names ...string) (out []provenance.Origin) {
	for _, n := range names {
		out = append(out, provenance.Origin{Kind: "notes", Label: n, Via: via})
	}
	return out
}

// createTracked creates a note. If the conversation contains untrusted text, the note's file is
// marked as untrusted.
func (d Deps) createTracked(ctx context.Context, c tools.Call, s pim.Notes, n pim.Note) (pim.Receipt, error) {
	if d.Track == nil || !provenance.Worst(c.Provenance).Tainted() {
		return s.CreateNote(ctx, n)
	}
	settle, err := d.Track(ctx, c.ID, c.Origins)
	if err != nil {
		return pim.Receipt{}, err
	}
	r, err := s.CreateNote(ctx, n)
	_, untracked := settle(context.WithoutCancel(ctx))
	if err == nil && untracked != nil && r.Why == "" {
		r.Why = untracked.Error()
	}
	return r, err
}

// createLeaf implements create_note for the owner's notes apps.
func (d Deps) createLeaf(spec tools.Spec) tools.Tool {
	spec.Timeout = time.Minute
	return tools.New(tools.Def[createNoteIn]{
		Spec: spec,
		Summary: func(in createNoteIn) string {
			return "Write a note in " + textnorm.Ellipsize(d.noteTarget(in), 60) + ": " + quoteLine(textnorm.Ellipsize(in.Title+" "+in.Text, 100))
		},
		Run: func(ctx context.Context, c tools.Call, in createNoteIn) (tools.Result, error) {
			s, folder, err := d.resolveNoteApp(d.noteTarget(in))
			if err != nil {
				return tools.Result{}, err
			}
			text, err := noteText(in.Text)
			if err != nil {
				return tools.Result{}, err
			}
			n := pim.Note{Title: textnorm.Ellipsize(in.Title, 200), Text: text, Folder: folder}
			if strings.TrimSpace(n.Title) == "" {
				n.Title = titleOf(text)
			}
			r, err := d.createTracked(ctx, c, s, n)
			if err == nil && r.Outcome == pim.Uncertain {
				err = tools.Errorf(tools.OutcomeUnknown, "note: outcome unknown (%s); Hob did not write it again. Check the notes before you retry", r.Why)
				return tools.Result{}, tools.Quoting(err, provenance.Outside)
			}
			if err != nil {
				return tools.Result{}, tools.ClassifyPIM(err)
			}
			n.Ref = r.ID
			res := tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("Wrote the note %s in %s.", quoteLine(n.Title), strings.Trim(s.Name()+"/"+folder, "/")), Data: AppNote{n, s.Name()}}
			if len(r.Undo) > 0 {
				res.Undo = tools.NewUndo("remove the note "+quoteLine(n.Title), shelfUndo{s.Name(), r.Undo})
			}
			return res, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u shelfUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			s, _, err := d.resolveNoteApp(u.In)
			if err != nil {
				return "", err
			}
			return "Removed the note.", tools.ClassifyPIM(s.TakeBack(ctx, u.Undo))
		},
	})
}

// leavesText formats notes of the owner's apps. It shows only the beginning of each note.
func leavesText(query string, list []AppNote, shelves []pim.Notes, err error, now time.Time) string {
	var names []string
	for _, s := range shelves {
		names = append(names, s.Name())
	}
	of := strings.Join(names, ", ")
	var b strings.Builder
	switch {
	case len(list) > 0:
		fmt.Fprintf(&b, "Notes in %s:", of)
		for _, n := range list {
			b.WriteString("\n- " + n.summaryLine(query, now))
		}
	case err != nil:
	case strings.TrimSpace(query) != "":
		fmt.Fprintf(&b, "No note in %s matches %s.", of, quoteLine(textnorm.Ellipsize(query, 100)))
	default:
		fmt.Fprintf(&b, "There are no notes in %s.", of)
	}
	if err != nil {
		b.WriteString("\n\nSome sources could not be read: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

func (n AppNote) summaryLine(query string, now time.Time) string {
	from := n.In
	if n.Folder != "" {
		from = textnorm.Ellipsize(n.Folder, 60) + " in " + n.In
	}
	s := textnorm.Ellipsize(n.Title, 200) + " (" + from
	if !n.Changed.IsZero() {
		s += ", " + dateparse.FormatDay(n.Changed, now)
	}
	s += ")"
	if body := strings.TrimSpace(strings.TrimPrefix(n.Text, n.Title)); body != "" {
		s += ": " + excerptAround(body, query)
	}
	return s
}
