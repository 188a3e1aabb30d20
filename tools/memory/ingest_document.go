package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Documents ingests documents into the memory.
type Documents interface {
	// CheckURL returns an address in the form in which it would be requested. It does no DNS
	// lookup.
	CheckURL(raw string) (*url.URL, error)
	// Ingest reads a file, a page, or a folder. After that, a folder is kept in sync.
	Ingest(ctx context.Context, c tools.Call, want knowledge.DocumentRequest) (knowledge.DocumentResult, error)
	// Forget undoes Ingest.
	Forget(ctx context.Context, realm string, taken knowledge.DocumentResult) error
}

type ingestIn struct {
	Path  string   `json:"path,omitempty" jsonschema:"file or folder"`
	URL   string   `json:"url,omitempty" jsonschema:"https://host/path"`
	Title string   `json:"title,omitempty"`
	Tags  []string `json:"tags,omitempty" jsonschema:"labels to find it by"`
}

// ingestUndo is the undo data of ingest_document.
type ingestUndo struct {
	Realm string                   `json:"realm,omitempty"`
	Taken knowledge.DocumentResult `json:"taken"`
}

func (d Deps) ingestDocument() tools.Tool {
	return tools.New(tools.Def[ingestIn]{
		Spec: tools.Spec{
			Name: "ingest_document", Category: "memory", Effects: tools.Write | tools.Egress, Timeout: 10 * time.Minute,
			Description: "Add a document to the memory, so that its content can be found: a file, a folder (kept in sync from then on) or a page. Give path or url.",
			Keywords:    "import index learn read file folder pdf docx xlsx epub mail manual knowledge base add document",
		},
		Summary: func(in ingestIn) string {
			if in.URL != "" {
				return "Ingest the page " + quoteLine(textnorm.Ellipsize(in.URL, 200)) + " into the memory"
			}
			return "Ingest " + quoteLine(textnorm.Ellipsize(in.Path, 200)) + " into the memory"
		},
		Judge: func(_ context.Context, in ingestIn) tools.CallAssessment { return d.judgeIngest(in) },
		Run:   d.runIngest,
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u ingestUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			if err := d.Documents.Forget(ctx, u.Realm, u.Taken); err != nil {
				return "", err
			}
			return "Removed the ingested documents from the memory.", nil
		},
	})
}

// judgeIngest assesses a call. Reading a file sends no data, but a page must be requested over the
// network.
func (d Deps) judgeIngest(in ingestIn) tools.CallAssessment {
	if (strings.TrimSpace(in.Path) == "") == (strings.TrimSpace(in.URL) == "") {
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "give exactly one of path and url")}
	}
	if in.URL == "" {
		return tools.CallAssessment{Effects: tools.Write}
	}
	u, err := d.Documents.CheckURL(in.URL)
	if err != nil {
		return tools.CallAssessment{Refused: err}
	}
	return tools.CallAssessment{
		Effects: tools.Write | tools.Egress, URLs: []string{u.String()}, Get: true, Why: "contacts " + u.Host, Pattern: "host:" + u.Host,
	}
}

func (d Deps) runIngest(ctx context.Context, c tools.Call, in ingestIn) (tools.Result, error) {
	taken, err := d.Documents.Ingest(ctx, c, knowledge.DocumentRequest{Path: strings.TrimSpace(in.Path), URL: strings.TrimSpace(in.URL), Title: in.Title, Tags: in.Tags})
	if err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Source: provenance.Tool, Text: takenText(taken), Data: taken}
	if len(taken.Skipped) > 0 { // file names are untrusted
		r.Source, r.Origins = provenance.Outside, taken.Origins
	}
	if len(taken.Fresh) > 0 || taken.Folder != "" {
		kept := taken
		kept.Skipped = nil
		r.Undo = tools.NewUndo("remove the ingested documents from the memory", ingestUndo{c.Realm, kept})
	}
	return r, nil
}

// takenText describes the result of ingesting.
func takenText(t knowledge.DocumentResult) string {
	var b strings.Builder
	switch fresh := t.Documents; {
	case fresh == 0 && len(t.Skipped) == 0:
		b.WriteString("There are no documents to ingest.")
	case fresh == 0:
		b.WriteString("Nothing could be ingested.")
	case t.Unchanged > 0 && t.Unchanged >= t.Documents:
		b.WriteString("The document was ingested before and has not changed.")
	default:
		fmt.Fprintf(&b, "Ingested %s in %s.", textnorm.CountNoun(t.Documents, "document", "documents"), textnorm.CountNoun(t.Chunks, "part", "parts"))
	}
	if t.Folder != "" {
		b.WriteString(" Changes in the folder are ingested automatically.")
	}
	if t.More {
		b.WriteString(" The rest of the folder is ingested in the background.")
	}
	for i, s := range t.Skipped {
		if i == 20 {
			fmt.Fprintf(&b, "\n- and %d more", len(t.Skipped)-i)
			break
		}
		fmt.Fprintf(&b, "\n- skipped %s: %s", textnorm.Ellipsize(s.Name, 160), s.Reason)
	}
	return b.String()
}
