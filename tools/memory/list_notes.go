package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type listNotesIn struct {
	Query string `json:"query,omitempty"`
	Limit int    `json:"limit,omitempty"`
	In    string `json:"in,omitempty" jsonschema:"only these: hob, or an app"`
}

// listNotesOut is the Data of list_notes.
type listNotesOut struct {
	Notes []Note    `json:"notes"`
	Apps  []AppNote `json:"apps,omitempty"`  // notes in the owner's apps
	Error string    `json:"error,omitempty"` // sources that could not be read
}

func (d Deps) listNotes() tools.Tool {
	return tools.New(tools.Def[listNotesIn]{
		Spec: tools.Spec{
			Name: "list_notes", Category: "memory", Effects: tools.Read, Timeout: time.Minute,
			Description: "List or search notes, newest first: Hob's own, with their text, and those in the user's notes app or notes folder.",
			Keywords:    "show notes read note find notes app obsidian vault markdown",
		},
		Summary: func(listNotesIn) string { return "List notes" },
		Run:     d.runListNotes,
	})
}

func (d Deps) runListNotes(ctx context.Context, c tools.Call, in listNotesIn) (tools.Result, error) {
	limit, err := limitOr(in.Limit, 20)
	if err != nil {
		return tools.Result{}, err
	}
	in.Query, in.In = strings.TrimSpace(in.Query), strings.TrimSpace(in.In)
	r := tools.Result{Source: provenance.Tool}
	out := listNotesOut{Notes: []Note{}}
	var parts []string
	withheld := 0
	if !d.elsewhereAt(in.In) {
		q := d.Store.Reader(ctx)
		if out.Notes, err = d.findNotes(q, in.Query, limit); err != nil {
			return tools.Result{}, err
		}
		var total int
		if err := q.QueryRow("SELECT count(*) FROM notes").Scan(&total); err != nil {
			return tools.Result{}, fmt.Errorf("notes: count: %w", err)
		}
		out.Notes, withheld = readableNotes(out.Notes, c.CredentialViewer())
		parts, r.Source = append(parts, notesText(in.Query, out.Notes, total, c.Now)), sourceOf(out.Notes, noteSource)
	}
	shelves, folder := d.noteApps(), ""
	switch {
	case d.elsewhereAt(in.In):
		s, of, err := d.resolveNoteApp(in.In)
		if err != nil {
			return tools.Result{}, err
		}
		shelves, folder = []pim.Notes{s}, of
	case in.In != "":
		shelves = nil
	}
	if len(shelves) > 0 {
		most := limit
		if folder != "" {
			most = allNotes
		}
		list, err := findAppNotes(ctx, shelves, in.Query, most)
		if folder != "" && len(list) > 0 && !slices.ContainsFunc(list, func(n AppNote) bool { return n.Folder != "" }) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "the notes of %s cannot be listed by folder; omit the folder", tools.Clean(shelves[0].Name()))
		}
		list = slices.DeleteFunc(list, func(n AppNote) bool { return folder != "" && !strings.EqualFold(n.Folder, folder) })
		list = list[:min(len(list), limit)]
		withheld += readableLeaves(list, c.CredentialViewer())
		if err != nil && len(list) == 0 && in.In != "" {
			return tools.Result{}, err
		}
		if out.Apps = list; err != nil {
			out.Error = err.Error()
		}
		if len(list) > 0 || err != nil {
			r.Source = provenance.Outside
		}
		for _, s := range shelves {
			r.Origins = append(r.Origins, shelfOrigins("list_notes", s.Name())...)
		}
		if len(out.Notes) == 0 && len(list) > 0 {
			parts = nil // "no notes" would be wrong because app notes were found
		}
		parts = append(parts, leavesText(in.Query, list, shelves, err, c.Now))
	}
	r.Text, r.Data = strings.Join(parts, "\n\n")+withheldText(withheld, c), out
	return r, nil
}

func (d Deps) findNotes(tx store.Querier, query string, limit int) ([]Note, error) {
	if query == "" {
		return queryNotes(tx, "ORDER BY updated_at DESC, n DESC LIMIT ?", limit)
	}
	hits, err := d.Knowledge.Search(tx, query, knowledge.SearchOptions{Limit: limit, Kinds: []string{kindNote}})
	if err != nil {
		return nil, err
	}
	out := []Note{}
	for _, h := range hits {
		n, ok, err := noteByID(tx, h.Ref)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// notesText formats one note in full. Of several notes, it shows only the beginning of each.
func notesText(query string, list []Note, total int, now time.Time) string {
	switch {
	case total == 0:
		return "There are no notes."
	case len(list) == 0:
		return fmt.Sprintf("No note matches %s.", quoteLine(textnorm.Ellipsize(query, 100)))
	case len(list) == 1:
		n := list[0]
		if strings.TrimSpace(n.Text) == n.Title {
			return fmt.Sprintf("Note (%s): %s", dateparse.FormatDay(n.UpdatedAt, now), n.Text)
		}
		return fmt.Sprintf("Note %s (%s):\n%s", quoteLine(n.Title), dateparse.FormatDay(n.UpdatedAt, now), n.Text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d notes:", len(list))
	for _, n := range list {
		fmt.Fprintf(&b, "\n- %s (%s)", n.Title, dateparse.FormatDay(n.UpdatedAt, now))
		if body := strings.TrimSpace(strings.TrimPrefix(n.Text, n.Title)); body != "" {
			b.WriteString(": " + excerptAround(body, query))
		}
	}
	if strings.TrimSpace(query) == "" && total > len(list) {
		fmt.Fprintf(&b, "\n(%d more; raise limit or search.)", total-len(list))
	}
	return b.String()
}
