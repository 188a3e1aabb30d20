package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const (
	kindNote = "note"
	maxNote  = 1 << 20 // bytes
)

// Note is one stored note.
type Note struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// readableNotes redacts text that looks like a credential, unless the viewer asked for it. It omits
// notes whose title looks like a credential. It returns the number of affected notes.
func readableNotes(list []Note, viewer credential.Viewer) (out []Note, withheld int) {
	out = []Note{}
	for _, n := range list {
		if viewer.Hides("", n.Title) {
			withheld++
			continue
		}
		if n.Text, withheld = shownNote(n.Title, n.Text, viewer, withheld); n.Text != "" {
			out = append(out, n)
		}
	}
	return out, withheld
}

// readableLeaves works like readableNotes, in place, for notes in the user's apps.
func readableLeaves(list []AppNote, viewer credential.Viewer) (withheld int) {
	for i := range list {
		if viewer.Hides("", list[i].Title) {
			list[i].Title = credential.Mark
		}
		list[i].Text, withheld = shownNote(list[i].Title, list[i].Text, viewer, withheld)
	}
	return withheld
}

func shownNote(title, text string, viewer credential.Viewer, withheld int) (string, int) {
	shown, ok := viewer.Show(title, text)
	if !ok {
		return credential.Mark, withheld + 1
	}
	return shown, withheld
}

// noteViewer returns the viewer of a requested note. It may see everything if the user named the
// note by its title.
func noteViewer(c tools.Call, title string) credential.Viewer {
	want := textnorm.FoldedWords(title)
	for _, words := range c.OwnerWords {
		for _, w := range textnorm.FoldedWords(words) {
			if len([]rune(w)) > 3 && slices.Contains(want, w) {
				return credential.Everything()
			}
		}
	}
	return c.CredentialViewer()
}

// API lists the notes for users and restores exported notes.
type API struct {
	Store  *store.Store
	Memory *knowledge.Base
}

// Notes implements api.Notes. With Query.Text it lists the matching notes, best first.
func (a API) Notes(ctx context.Context, q api.Query) ([]api.Note, error) {
	var list []Note
	var err error
	if q.Text != "" {
		list, err = Deps{Knowledge: a.Memory}.findNotes(a.Store.Reader(ctx), q.Text, cmp.Or(q.Limit, 100))
	} else {
		list, err = Notes(ctx, a.Store, q.Limit)
	}
	out := make([]api.Note, len(list))
	for i, n := range list {
		out[i] = api.Note(n)
	}
	return out, err
}

// AddNoteTx stores a note that other people's texts influenced. undo deletes it unless it has
// changed; see UndoNoteTx.
func (d Deps) AddNoteTx(tx *store.Tx, c tools.Call, title, text string) (id string, undo *tools.Undo, err error) {
	n := Note{
		ID: shortid.New("n"), Title: textnorm.Ellipsize(title, 200), Text: text, Provenance: provenance.Outside, CreatedAt: storedTime(c.Now), UpdatedAt: storedTime(c.Now),
	}
	if err := d.putNote(tx, n); err != nil {
		return "", nil, err
	}
	return n.ID, tools.NewUndo("delete the note "+quoteLine(n.Title), noteUndo{ID: n.ID, State: noteDigest(n)}), nil
}

// UndoNoteTx deletes a note that AddNoteTx or create_note stored.
func (d Deps) UndoNoteTx(tx *store.Tx, data json.RawMessage) (string, error) {
	_, n, err := decodeUnchanged[noteUndo](tx, data)
	if err != nil {
		return "", err
	}
	return "Deleted the note " + quoteLine(n.Title) + ".", d.dropNote(tx, n.ID)
}

// FindNotes returns the notes that match a text, best first.
func (d Deps) FindNotes(ctx context.Context, text string, limit int) ([]api.Note, error) {
	return API{Store: d.Store, Memory: d.Knowledge}.Notes(ctx, api.Query{Text: text, Limit: limit})
}

// Notes lists the newest notes, at most limit. If limit is 0, it lists at most 1,000.
func Notes(ctx context.Context, st *store.Store, limit int) ([]Note, error) {
	if limit <= 0 {
		limit = 1000
	}
	return queryNotes(st.Reader(ctx), "ORDER BY updated_at DESC, n DESC LIMIT ?", limit)
}

func queryNotes(q store.Querier, tail string, args ...any) (out []Note, err error) {
	rows, err := q.Query("SELECT id, title, text, provenance, created_at, updated_at FROM notes "+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("notes: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Note{}
	for rows.Next() {
		n, err := scanNote(rows)
		if err != nil {
			return nil, fmt.Errorf("notes: read: %w", err)
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

func scanNote(row interface{ Scan(...any) error }) (Note, error) {
	var n Note
	var created, updated int64
	err := row.Scan(&n.ID, &n.Title, &n.Text, &n.Provenance, &created, &updated)
	n.CreatedAt, n.UpdatedAt = store.Time(created), store.Time(updated)
	return n, err
}

func noteSource(n Note) provenance.Source { return n.Provenance }

// noteByID reads one note; ok is false if it does not exist.
func noteByID(q store.Querier, id string) (n Note, ok bool, err error) {
	n, err = scanNote(q.QueryRow("SELECT id, title, text, provenance, created_at, updated_at FROM notes WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	return n, err == nil, err
}

func pickNote(q store.Querier, query string) (Note, error) {
	all, err := queryNotes(q, "ORDER BY updated_at DESC, n DESC")
	if err != nil {
		return Note{}, err
	}
	n, err := tools.Pick("note", query, all, func(n Note) (string, string) { return n.ID, n.Title })
	return n, tools.Quoting(err, sourceOf(all, noteSource))
}

// putNote inserts a new note with its index entry.
func (d Deps) putNote(tx *store.Tx, n Note) error {
	_, err := tx.Exec("INSERT INTO notes (id, title, text, provenance, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
		n.ID, n.Title, n.Text, string(n.Provenance), store.Millis(n.CreatedAt), store.Millis(n.UpdatedAt))
	if err != nil {
		return fmt.Errorf("notes: add: %w", err)
	}
	return d.indexNote(tx, n)
}

func (d Deps) changeNote(tx *store.Tx, n Note) error {
	_, err := tx.Exec("UPDATE notes SET title = ?, text = ?, provenance = ?, updated_at = ? WHERE id = ?",
		n.Title, n.Text, string(n.Provenance), store.Millis(n.UpdatedAt), n.ID)
	if err != nil {
		return fmt.Errorf("notes: update: %w", err)
	}
	return d.indexNote(tx, n)
}

func (d Deps) dropNote(tx *store.Tx, id string) error {
	if _, err := tx.Exec("DELETE FROM notes WHERE id = ?", id); err != nil {
		return fmt.Errorf("notes: delete: %w", err)
	}
	return d.Knowledge.UnindexTx(tx, kindNote, id)
}

func (d Deps) indexNote(tx *store.Tx, n Note) error {
	return d.Knowledge.IndexTx(tx, knowledge.Doc{
		Kind: kindNote, Ref: n.ID, Title: n.Title, Text: n.Text, At: n.UpdatedAt, Provenance: n.Provenance,
	})
}

// noteText validates the text of a note.
func noteText(s string) (string, error) {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	switch {
	case s == "":
		return "", tools.Errorf(tools.InvalidArguments, "the note is empty")
	case len(s) > maxNote:
		return "", tools.Errorf(tools.InvalidArguments, "a note may be at most 1 MB; write a file instead")
	}
	return s, nil
}

func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return textnorm.Ellipsize(strings.TrimLeft(line, "# "), 60)
}
