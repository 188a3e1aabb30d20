package apple

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scripterr"
)

// Notes reads and writes notes of the Notes app.
type Notes struct{ run osrun.Runner }

// NewNotes returns Notes that run their scripts with r.
func NewNotes(r osrun.Runner) *Notes { return &Notes{r} }

// Name implements pim.Driver.
func (*Notes) Name() string { return name }

func (n *Notes) runScript(ctx context.Context, file string, in, out any, write bool) error {
	return n.run.Run(ctx, osrun.Call{Script: noteScript(file), App: notesApp(), In: in, Write: write, Wait: bulk}, out)
}

// mostNotes bounds how many notes a script returns.
const mostNotes = 1000

// noteID begins the id of every note.
const noteID = "x-coredata://"

type note struct {
	ID, Title, Text, Folder, FolderID string
	Changed                           int64
	Cut, Locked, Shared               bool
}

func (x note) toPIMNote() pim.Note {
	return pim.Note{Ref: x.ID, Title: pim.SanitizeLine(x.Title, 300), Text: pim.SanitizeText(x.Text), Cut: x.Cut, Changed: time.UnixMilli(x.Changed).UTC(), Folder: pim.SanitizeLine(x.Folder, 120), FolderID: x.FolderID, Shared: x.Shared}
}

// searchWords returns the search words in lower case.
func searchWords(s string) []string { return append([]string{}, strings.Fields(strings.ToLower(s))...) }

// FindNotes implements pim.Notes. Of a locked note only the title is known.
func (n *Notes) FindNotes(ctx context.Context, text string, limit int) ([]pim.Note, error) {
	return n.findNotes(ctx, "", text, limit)
}

// FindInFolder implements pim.Folders.
func (n *Notes) FindInFolder(ctx context.Context, folder, text string, limit int) ([]pim.Note, error) {
	out, err := n.findNotes(ctx, folder, text, limit)
	return out, noFolder(err)
}

func (n *Notes) findNotes(ctx context.Context, folder, text string, limit int) ([]pim.Note, error) {
	var got struct {
		Notes   []note
		Partial []string
	}
	err := n.runScript(ctx, "find_notes.js", struct {
		Words  []string `json:"words"`
		Limit  int      `json:"limit"`
		Folder string   `json:"folder,omitempty"`
	}{searchWords(text), min(limit, mostNotes), folder}, &got, false)
	if err != nil {
		return nil, scripterr.Read(err)
	}
	out := make([]pim.Note, 0, len(got.Notes))
	for _, x := range got.Notes {
		p := x.toPIMNote()
		p.Cut = true
		if x.Locked {
			p.Text = "(locked)"
		}
		out = append(out, p)
	}
	var warnings []string
	if len(got.Notes) >= mostNotes {
		warnings = append(warnings, fmt.Sprintf("Notes: checked only the newest %d matches", mostNotes))
	}
	for _, w := range got.Partial {
		warnings = append(warnings, "Notes: "+w)
	}
	return out, pim.Partial(warnings...)
}

// ReadNote implements pim.Notes.
func (n *Notes) ReadNote(ctx context.Context, ref string) (pim.Note, error) {
	if !strings.HasPrefix(ref, noteID) {
		return pim.Note{}, fmt.Errorf("Notes: %w: no note %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	var got note
	err := n.runScript(ctx, "read_note.js", struct {
		ID   string `json:"id"`
		Most int    `json:"most"`
	}{ref, 100_000}, &got, false)
	return got.toPIMNote(), scripterr.Read(err)
}

// CreateNote implements pim.Notes.
func (n *Notes) CreateNote(ctx context.Context, x pim.Note) (pim.Receipt, error) {
	var got note
	err := n.runScript(ctx, "create_note.js", struct {
		Title  string `json:"title"`
		Text   string `json:"text"`
		Folder string `json:"folder,omitempty"`
	}{pim.SanitizeLine(x.Title, 300), pim.SanitizeText(x.Text), x.Folder}, &got, true)
	return scripterr.Write(pim.Receipt{Outcome: pim.Sent, ID: got.ID, Undo: marshalUndo(undo{Note: got.ID, Changed: got.Changed})}, err)
}

// TakeBack implements pim.Undoer: a note that was changed since stays.
func (n *Notes) TakeBack(ctx context.Context, b []byte) error {
	u, err := readUndo(b)
	if err != nil {
		return err
	}
	return scripterr.Read(n.runScript(ctx, "create_note.js", struct {
		Remove  string `json:"remove"`
		Changed int64  `json:"changed"`
	}{u.Note, u.Changed}, nil, true))
}
