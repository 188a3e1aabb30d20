package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of saved attachments.
const (
	maxSaved     = 10       // files per call
	maxSavedFile = 10 << 20 // bytes of a file
)

type saveIn struct {
	Mail    string `json:"mail" jsonschema:"id of the email, or words of its sender or subject"`
	Name    string `json:"name,omitempty" jsonschema:"name of the attached file, or a part of it; default all files"`
	Folder  string `json:"folder,omitempty" jsonschema:"folder to save to; default the folder for new files"`
	Mailbox string `json:"mailbox,omitempty" jsonschema:"the folder of the mailbox to search for the words (default inbox)"`
	Account string `json:"account,omitempty" jsonschema:"only this account"`
}

// SavedFile is a file that was created with untrusted content.
type SavedFile struct {
	Path  string // absolute path
	Shown string // path for people
	Undo  json.RawMessage
}

type savedOut struct {
	Files []savedAttachment `json:"files"`
}

type savedAttachment struct {
	Name string `json:"name"` // the name in the email
	Path string `json:"path"`
	Size int    `json:"size"`
}

func (d Deps) saveEmailAttachment() tools.Tool {
	return tools.New(tools.Def[saveIn]{
		Spec: tools.Spec{
			Name: "save_email_attachment", Category: "mail", Effects: tools.Write, Timeout: 4 * time.Minute,
			Description: "Save the files attached to an email in a folder. The files stay marked as untrusted.",
			Keywords:    "save download store attachment attached file files pdf invoice photo document from email mail to folder",
		},
		Summary: func(in saveIn) string {
			s := fmt.Sprintf("Save the files attached to the email %q", textnorm.Ellipsize(in.Mail, 100))
			if in.Name != "" {
				s = fmt.Sprintf("Save %q, attached to the email %q", textnorm.Ellipsize(in.Name, 80), textnorm.Ellipsize(in.Mail, 100))
			}
			if in.Folder != "" {
				s += " in " + textnorm.Ellipsize(in.Folder, 100)
			}
			return s
		},
		Judge: func(ctx context.Context, in saveIn) tools.CallAssessment {
			x, _, err := d.findMailToMove(ctx, moveIn{Mail: in.Mail, From: in.Mailbox, Account: in.Account})
			if err != nil {
				return refusedJudgment(err)
			}
			return tools.CallAssessment{Why: fmt.Sprintf("it saves files from the email %q of %s", subjectLine(x, 100), senderLabel(x)), Exact: x.Ref}
		},
		Run: d.runSaveAttachment,
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var list []json.RawMessage
			if err := json.Unmarshal(data, &list); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			var said []string
			for _, u := range list {
				text, err := d.UndoSave(ctx, u)
				if err != nil {
					return "", err
				}
				said = append(said, text)
			}
			return strings.Join(said, " "), nil
		},
	})
}

func (d Deps) runSaveAttachment(ctx context.Context, c tools.Call, in saveIn) (tools.Result, error) {
	x, box, err := d.findMailToMove(ctx, moveIn{Mail: in.Mail, From: in.Mailbox, Account: in.Account})
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	if x.Ref != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different email than the approved one; nothing was saved")
	}
	parts, err := readParts(ctx, box, x.Ref, maxSavedFile, func(p pim.MailPart) bool {
		return p.Attached && (in.Name == "" || textnorm.ContainsAllWords(p.Name, strings.Fields(in.Name)))
	})
	if err != nil {
		return tools.Result{}, err
	}
	if len(parts) == 0 {
		return tools.Result{}, outsideError(tools.Errorf(tools.NotFound, "the email %q has no such attached file; attached: %s", subjectLine(x, 100), orNothing(textnorm.Ellipsize(strings.Join(x.Files, ", "), 300))))
	}
	if len(parts) > maxSaved {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%d attached files match; at most %d are saved at once, so name some", len(parts), maxSaved)
	}
	origins := mailOrigins(x, "save_email_attachment")
	var out savedOut
	var undo []json.RawMessage
	var lines []string
	for _, p := range parts {
		f, err := d.Save(ctx, in.Folder, p.Name, p.Data, origins)
		if err != nil {
			for _, u := range undo { // the call failed, so nothing of it stays
				if _, uerr := d.UndoSave(context.WithoutCancel(ctx), u); uerr != nil {
					err = errors.Join(err, uerr)
				}
			}
			return tools.Result{}, err
		}
		out.Files = append(out.Files, savedAttachment{p.Name, f.Path, len(p.Data)})
		undo, lines = append(undo, f.Undo), append(lines, fmt.Sprintf("%s (%d bytes)", f.Shown, len(p.Data)))
	}
	return tools.Result{
		Text: "Saved " + strings.Join(lines, ", ") + ".", Data: out, Source: provenance.Outside, Origins: origins,
		Undo: tools.NewUndo("delete "+textnorm.CountNoun(len(lines), "saved file", "saved files"), undo),
	}, nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// readParts reads parts of a message, if its mailbox supports it.
func readParts(ctx context.Context, box pim.Mailer, ref string, limit int64, want func(pim.MailPart) bool) ([]pim.MailPart, error) {
	r, ok := box.(pim.PartReader)
	if !ok {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "Hob cannot read attached files in " + box.Name(), Remedy: "add the account with: hob account add"}
	}
	parts, err := r.ReadParts(ctx, ref, limit, want)
	return parts, tools.ClassifyPIM(err)
}
