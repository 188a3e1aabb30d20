package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type readNoteIn struct {
	Note string `json:"note" jsonschema:"id or words from its title"`
	In   string `json:"in,omitempty" jsonschema:"hob, or an app; default all"`
}

// readNote shows one note in full: a note of Hob's own store or of one of the owner's apps.
func (d Deps) readNote() tools.Tool {
	return tools.New(tools.Def[readNoteIn]{
		Spec: tools.Spec{
			Name: "read_note", Category: "memory", Effects: tools.Read, Timeout: 90 * time.Second,
			Description: "Read one whole note: Hob's own, or one in the user's notes app or notes folder.",
			Keywords:    "open show full text of a note notes app obsidian vault markdown",
		},
		Summary: func(in readNoteIn) string { return "Read the note " + quoteLine(textnorm.Ellipsize(in.Note, 100)) },
		Run: func(ctx context.Context, c tools.Call, in readNoteIn) (tools.Result, error) {
			elsewhere := d.elsewhereAt(in.In)
			var missed error
			if !elsewhere {
				n, err := pickNote(d.Store.Reader(ctx), in.Note)
				if err == nil {
					shown, ok := noteViewer(c, n.Title).Show(n.Title, n.Text)
					if !ok {
						return tools.Result{Text: strings.TrimSpace(withheldText(1, c)), Source: provenance.Tool}, nil
					}
					n.Text = shown
					return tools.Result{Text: notesText("", []Note{n}, 1, c.Now), Data: n, Source: sourceOf([]Note{n}, noteSource)}, nil
				}
				if missed = err; in.In != "" || tools.CodeOf(err) != tools.NotFound || len(d.noteApps()) == 0 {
					return tools.Result{}, err
				}
			}
			return d.readLeaf(ctx, c, in, missed)
		},
	})
}

func (d Deps) readLeaf(ctx context.Context, c tools.Call, in readNoteIn, missed error) (tools.Result, error) {
	shelves := d.noteApps()
	if in.In != "" {
		s, _, err := d.resolveNoteApp(in.In)
		if err != nil {
			return tools.Result{}, err
		}
		shelves = []pim.Notes{s}
	}
	list, err := findAppNotes(ctx, shelves, in.Note, allNotes)
	if len(list) == 0 {
		if err == nil && missed != nil {
			err = missed // missed is an error that names similar notes
		}
		if err == nil {
			err = tools.Errorf(tools.NotFound, "no note matches %s", tools.Clean(quoteLine(textnorm.Ellipsize(in.Note, 80))))
		}
		return tools.Result{}, err
	}
	one := list[0]
	if len(list) > 1 {
		if one, err = tools.Pick("note", in.Note, list, func(n AppNote) (string, string) { return n.Ref, n.Title }); err != nil {
			return tools.Result{}, tools.Quoting(err, provenance.Outside)
		}
	}
	for _, s := range shelves {
		if s.Name() != one.In {
			continue
		}
		n, err := s.ReadNote(ctx, one.Ref)
		if err != nil {
			return tools.Result{}, tools.ClassifyPIM(err)
		}
		shown, ok := noteViewer(c, n.Title).Show(n.Title, n.Text)
		if !ok {
			return tools.Result{Text: strings.TrimSpace(withheldText(1, c)), Source: provenance.Tool}, nil
		}
		n.Text = shown
		text := fmt.Sprintf("Note %s (%s, %s):\n%s", quoteLine(n.Title), s.Name(), dateparse.FormatDay(n.Changed, c.Now), n.Text)
		if n.Cut {
			text += "\n(Only the beginning of the note is shown.)"
		}
		return tools.Result{Text: text, Data: AppNote{n, s.Name()}, Source: provenance.Outside, Origins: shelfOrigins("read_note", s.Name())}, nil
	}
	return tools.Result{}, tools.Errorf(tools.NotFound, "no note matches %s", tools.Clean(quoteLine(textnorm.Ellipsize(in.Note, 80))))
}
