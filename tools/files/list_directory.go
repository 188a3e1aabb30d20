package files

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxListed limits the entries in one listing.
const maxListed = 500

type listIn struct {
	Path      string `json:"path"`
	Pattern   string `json:"pattern,omitempty" jsonschema:"glob such as *.pdf"`
	Recursive bool   `json:"recursive,omitempty"`
}

// listedEntry is one row in the Data of list_directory.
type listedEntry struct {
	Name     string    `json:"name"` // relative to the folder, with slashes
	Folder   bool      `json:"folder,omitempty"`
	Link     string    `json:"link,omitempty"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

type listOut struct {
	Path     string        `json:"path"`
	Entries  []listedEntry `json:"entries"`
	Complete bool          `json:"complete"`
}

func (f *Files) listDirectory() tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec: tools.Spec{
			Name: "list_directory", Category: "files", Effects: tools.Read, Core: true,
			Description: "List a folder's files; recursive: also those below.",
			Keywords:    "ls dir folder contents show files downloads documents",
		},
		Paths:   func(in listIn) []string { return f.touchedPaths(in.Path) },
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
	dir, err := s.openFolder()
	if err != nil {
		return tools.Result{}, f.describeFileError("list", s, err)
	}
	defer func() { _ = dir.Close() }()
	out := listOut{Path: s.abs, Entries: []listedEntry{}}
	more := 0
	w := &treeWalk{f: f, recursive: in.Recursive, hidden: pattern.hasHiddenPattern(), visit: func(e walkEntry) error {
		if !pattern.isMatch(e.rel) {
			return nil
		}
		if len(out.Entries) == maxListed {
			more++
			return nil
		}
		row := listedEntry{Name: e.rel, Folder: e.info.IsDir(), Size: e.info.Size(), Modified: e.info.ModTime().In(c.Now.Location())}
		if e.info.Mode()&fs.ModeSymlink != 0 {
			row.Link, _ = e.dir.Readlink(e.name)
		}
		out.Entries = append(out.Entries, row)
		return nil
	}}
	if in.Recursive {
		w.limit = maxVisited
	}
	if err := w.walkTree(ctx, dir, s.abs); err != nil {
		return tools.Result{}, f.describeFileError("list", s, err)
	}
	said := w.skippedText()
	out.Complete = said == "" && more == 0
	r := tools.Result{Source: provenance.Tool, Text: listText(s.displayName(), in, out, more, said), Data: out}
	r.Source, r.Origins = f.folderProvenance(ctx, s)
	if len(out.Entries) == 0 && len(w.heavies) == 0 {
		r.Source, r.Origins = provenance.Tool, nil // the result contains no text by other people
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
		fmt.Fprintf(&b, "%s: %s%s", shown, textnorm.CountNoun(len(out.Entries)+more, "entry", "entries"), what)
	}
	for _, e := range out.Entries {
		b.WriteString("\n- " + printableName(filepath.ToSlash(e.Name)))
		switch {
		case e.Folder:
			b.WriteString("/")
		case e.Link != "":
			b.WriteString(" -> " + printableName(e.Link))
		default:
			fmt.Fprintf(&b, " (%s, %s)", formatSize(e.Size), e.Modified.Format(time.DateOnly))
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

// printableName converts the name of a file so that it fits on one line.
func printableName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}
