package apple

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Notes reads and writes notes in the Notes app.
type Notes struct{ scriptapp.App }

// NewNotes returns Notes that run their scripts with r.
func NewNotes(r osrun.Runner) *Notes {
	return &Notes{newApp(r, "com.apple.Notes", "Notes", noteScript)}
}

// mostNotes limits the notes that a script returns.
const mostNotes = 1000

// noteID is the prefix of every note's id.
const noteID = "x-coredata://"

type noteRow struct {
	ID, Title, Text, Folder, FolderID string
	Changed                           int64
	Cut, Locked, Shared               bool
}

func (x noteRow) toPIMNote() pim.Note {
	return scriptapp.SanitizeNote(pim.Note{Ref: x.ID, Title: x.Title, Text: x.Text, Cut: x.Cut, Folder: x.Folder, FolderID: x.FolderID, Shared: x.Shared}, x.Changed)
}

// FindNotes implements pim.Notes. For a locked note, it returns only the title.
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
		Notes   []noteRow
		Partial []string
	}
	err := n.Read(ctx, "find_notes.js", struct {
		Words  []string `json:"words"`
		Limit  int      `json:"limit"`
		Folder string   `json:"folder,omitempty"`
	}{scriptapp.SearchWords(text), min(limit, mostNotes), folder}, &got)
	if err != nil {
		return nil, err
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
		return pim.Note{}, fmt.Errorf("Notes: %w: note %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	var got noteRow
	err := n.Read(ctx, "read_note.js", struct {
		ID   string `json:"id"`
		Most int    `json:"most"`
	}{ref, 100_000}, &got)
	return got.toPIMNote(), err
}

// CreateNote implements pim.Notes.
func (n *Notes) CreateNote(ctx context.Context, x pim.Note) (pim.Receipt, error) {
	var got noteRow
	return n.Write(ctx, "create_note.js", struct {
		Title  string `json:"title"`
		Text   string `json:"text"`
		Folder string `json:"folder,omitempty"`
	}{pim.SanitizeLine(x.Title, 300), pim.SanitizeText(x.Text), x.Folder}, &got, func() pim.Receipt {
		return pim.Receipt{Outcome: pim.Sent, ID: got.ID, Undo: scriptapp.MarshalUndo(undoRecord{Note: got.ID, Changed: got.Changed})}
	})
}

// TakeBack implements pim.Undoer. It does not delete a note that was changed since.
func (n *Notes) TakeBack(ctx context.Context, b []byte) error {
	u, err := scriptapp.ReadUndo[undoRecord](b)
	if err != nil {
		return err
	}
	return n.Undo(ctx, "create_note.js", struct {
		Remove  string `json:"remove"`
		Changed int64  `json:"changed"`
	}{u.Note, u.Changed})
}
