package files

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/tools"
)

// maxListed bounds the entries of one listing.
const maxListed = 500

type listIn struct {
	Path      string `json:"path" jsonschema:"folder"`
	Pattern   string `json:"pattern,omitempty" jsonschema:"glob such as *.pdf"`
	Recursive bool   `json:"recursive,omitempty"`
}

// listed is one row of list_directory's Data.
type listed struct {
	Name     string    `json:"name"` // relative to the folder, with slashes
	Folder   bool      `json:"folder,omitempty"`
	Link     string    `json:"link,omitempty"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

type listOut struct {
	Path     string   `json:"path"`
	Entries  []listed `json:"entries"`
	Complete bool     `json:"complete"`
}

func (f *Files) listDirectory() tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec: tools.Spec{
			Name: "list_directory", Category: "files", Effects: tools.Read, Core: true,
			Description: "List a folder's files with sizes and dates.",
			Keywords:    "ls dir folder contents show files downloads documents",
		},
		Paths:   func(in listIn) []string { return f.paths(in.Path) },
		Summary: func(in listIn) string { return "List " + in.Path },
		Run:     f.runList,
	})
}

func (f *Files) runList(ctx context.Context, c tools.Call, in listIn) (tools.Result, error) {
	pattern, err := newGlob(in.Pattern)
	if err != nil {
		return tools.Result{}, err
	}
	s, err := f.folderAt(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	dir, err := s.folder()
	if err != nil {
		return tools.Result{}, f.trouble("list", s, err)
	}
	defer func() { _ = dir.Close() }()
	out := listOut{Path: s.abs, Entries: []listed{}}
	more := 0
	w := &walk{f: f, recursive: in.Recursive, hidden: pattern.dotted(), visit: func(e entry) error {
		if !pattern.match(e.rel) {
			return nil
		}
		if len(out.Entries) == maxListed {
			more++
			return nil
		}
		row := listed{Name: e.rel, Folder: e.info.IsDir(), Size: e.info.Size(), Modified: e.info.ModTime().In(c.Now.Location())}
		if e.info.Mode()&fs.ModeSymlink != 0 {
			row.Link, _ = e.dir.Readlink(e.name)
		}
		out.Entries = append(out.Entries, row)
		return nil
	}}
	if in.Recursive {
		w.limit = maxVisited
	}
	if err := w.run(ctx, dir, s.abs); err != nil {
		return tools.Result{}, f.trouble("list", s, err)
	}
	said := w.said()
	out.Complete = said == "" && more == 0
	r := tools.Result{Source: provenance.Tool, Text: listText(s.shown(), in, out, more, said), Data: out}
	r.Source, r.Origins = f.origins(ctx, s)
	if len(out.Entries) == 0 && len(w.heavies) == 0 {
		r.Source, r.Origins = provenance.Tool, nil // the result contains no text of others
	}
	return r, nil
}

func listText(shown string, in listIn, out listOut, more int, said string) string {
	var b strings.Builder
	what := ""
	if in.Pattern != "" {
		what = " matching " + in.Pattern
	}
	switch {
	case len(out.Entries) == 0 && in.Pattern != "":
		fmt.Fprintf(&b, "Nothing in %s matches %s.", shown, in.Pattern)
	case len(out.Entries) == 0:
		fmt.Fprintf(&b, "%s is empty.", shown)
	default:
		fmt.Fprintf(&b, "%s: %s%s", shown, plural(len(out.Entries)+more, "entry", "entries"), what)
	}
	for _, e := range out.Entries {
		b.WriteString("\n- " + printable(filepath.ToSlash(e.Name)))
		switch {
		case e.Folder:
			b.WriteString("/")
		case e.Link != "":
			b.WriteString(" -> " + printable(e.Link))
		default:
			fmt.Fprintf(&b, " (%s, %s)", size(e.Size), e.Modified.Format(time.DateOnly))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n(%d more not shown; use a narrower pattern.)", more)
	}
	if said != "" {
		b.WriteString("\n" + said)
	}
	return b.String()
}

// printable keeps a file's name on one line.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}
