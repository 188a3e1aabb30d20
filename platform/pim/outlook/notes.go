package outlook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Notes reads and writes Outlook's notes.
type Notes struct{ scriptapp.App }

// NewNotes returns Notes that run their scripts with r.
func NewNotes(r osrun.Runner) *Notes { return &Notes{newApp(r, itemScript)} }

const (
	noteKind  = "note"
	mostNotes = 1000 // maximum number of notes that one script returns
	scanNotes = 2000
)

type notesIn struct {
	itemKey
	Words []string `json:"words"`
	Limit int      `json:"limit"`
	Scan  int      `json:"scan"`
	Most  int      `json:"most"`
}

type notesOut struct {
	Rows []struct {
		ID, Title, Text string
		Cut             bool
		Changed         int64
	}
	Store string
	More  bool
}

func (o notesOut) toPIMNotes() []pim.Note {
	out := make([]pim.Note, 0, len(o.Rows))
	for _, x := range o.Rows {
		out = append(out, scriptapp.SanitizeNote(pim.Note{Ref: itemKey{ID: x.ID, Store: o.Store}.formatRef(noteKind), Title: x.Title, Text: x.Text, Cut: x.Cut}, x.Changed))
	}
	return out
}

// FindNotes implements pim.Notes.
func (n *Notes) FindNotes(ctx context.Context, words string, limit int) ([]pim.Note, error) {
	var got notesOut
	if err := n.Read(ctx, "find_notes.ps1", notesIn{Words: scriptapp.SearchWords(words), Limit: min(limit, mostNotes), Scan: scanNotes}, &got); err != nil {
		return nil, err
	}
	if got.More {
		return got.toPIMNotes(), pim.Partial(fmt.Sprintf("Outlook: searched only the newest %d notes", scanNotes))
	}
	if len(got.Rows) >= mostNotes {
		return got.toPIMNotes(), pim.Partial(fmt.Sprintf("Outlook: checked only the newest %d matching notes", mostNotes))
	}
	return got.toPIMNotes(), nil
}

// ReadNote implements pim.Notes.
func (n *Notes) ReadNote(ctx context.Context, ref string) (pim.Note, error) {
	t, err := parseItemRef(noteKind, ref)
	if err != nil {
		return pim.Note{}, err
	}
	var got notesOut
	if err := n.Read(ctx, "find_notes.ps1", notesIn{itemKey: t, Words: []string{}, Most: mostText}, &got); err != nil {
		return pim.Note{}, err
	}
	if len(got.Rows) != 1 {
		return pim.Note{}, fmt.Errorf("in Outlook: %w: the note no longer exists", pim.ErrNotFound)
	}
	return got.toPIMNotes()[0], nil
}

// CreateNote implements pim.Notes.
func (n *Notes) CreateNote(ctx context.Context, x pim.Note) (pim.Receipt, error) {
	if x.Folder != "" {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: new notes can only be created in the default folder", errors.ErrUnsupported)
	}
	var got itemKey
	return n.Write(ctx, "write_note.ps1", struct {
		How   string `json:"how"`
		Title string `json:"title"`
		Text  string `json:"text"`
	}{"create", pim.SanitizeLine(x.Title, 300), pim.SanitizeText(x.Text)}, &got, func() pim.Receipt {
		return pim.Receipt{Outcome: pim.Sent, ID: got.formatRef(noteKind), Undo: undoRecord{How: "remove", itemKey: got}.marshalUndo()}
	})
}

// TakeBack implements pim.Undoer. It does not delete or overwrite a note that was changed in the
// meantime.
func (n *Notes) TakeBack(ctx context.Context, undo []byte) error {
	return undoItem(ctx, n.App, "write_note.ps1", undo)
}

// Contacts is the address book of Outlook.
type Contacts struct{ scriptapp.App }

// NewContacts returns Contacts that run their scripts with r.
func NewContacts(r osrun.Runner) *Contacts { return &Contacts{newApp(r, itemScript)} }

// FindContacts implements pim.Contacts.
func (c *Contacts) FindContacts(ctx context.Context, words string, limit int) ([]pim.Contact, error) {
	var got struct {
		People []struct {
			ID, Name, Company, Born string
			Addresses, Phones       []string
		}
	}
	err := c.Read(ctx, "find_contacts.ps1", struct {
		Words []string `json:"words"`
		Limit int      `json:"limit"`
	}{scriptapp.SearchWords(words), limit}, &got)
	if err != nil {
		return nil, err
	}
	out := make([]pim.Contact, 0, len(got.People))
	for _, p := range got.People {
		x := pim.Contact{Ref: p.ID, Name: pim.SanitizeLine(p.Name, 120), Company: pim.SanitizeLine(p.Company, 120), Birthday: pim.SanitizeLine(p.Born, 10)}
		for _, a := range p.Addresses {
			if strings.Contains(a, "@") { // an address without "@" is a name in Exchange
				x.Addresses = append(x.Addresses, strings.ToLower(pim.SanitizeLine(a, 254)))
			}
		}
		for _, n := range p.Phones {
			if n != "" {
				x.Phones = append(x.Phones, pim.SanitizeLine(n, 40))
			}
		}
		out = append(out, x)
	}
	return out, nil
}
