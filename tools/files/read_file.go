package files

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// shownLines and shownBytes limit one result of read_file.
const (
	shownLines = 2000
	shownBytes = 256 << 10
)

type readIn struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line"`
	Limit  int    `json:"limit,omitempty"`
}

// readOut is the Data of read_file.
type readOut struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Binary bool   `json:"binary,omitempty"`
	Lines  int    `json:"lines"`
	From   int    `json:"from,omitempty"`
	To     int    `json:"to,omitempty"`
}

func (f *Files) readFile() tools.Tool {
	return tools.New(tools.Def[readIn]{
		Spec: tools.Spec{
			Name: "read_file", Category: "files", Effects: tools.Read, Core: true,
			Description: "Read a text file, or some lines of it.",
			Keywords:    "open show cat view content document log",
		},
		Paths:   func(in readIn) []string { return f.touchedPaths(in.Path) },
		Summary: func(in readIn) string { return "Read " + in.Path },
		Run:     f.runRead,
	})
}

func (f *Files) runRead(ctx context.Context, _ tools.Call, in readIn) (tools.Result, error) {
	if in.Offset < 0 || in.Limit < 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "offset and limit count lines and cannot be negative")
	}
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	s, err := f.openSpot(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	b, err := s.readContent(f.opt.MaxFile)
	if err != nil {
		return tools.Result{}, f.describeFileError("read", s, err)
	}
	out := readOut{Path: s.abs, Size: int64(len(b))}
	var r tools.Result
	r.Source, r.Origins = f.contentProvenance(ctx, s, contentDigest(b))
	text, note, ok := decodeText(b)
	switch {
	case len(b) == 0:
		r.Source, r.Origins = provenance.Tool, nil
		r.Text = s.displayName() + " is empty."
	case !ok:
		out.Binary = true
		r.Text = fmt.Sprintf("%s is %s, %s; it is not shown.", s.displayName(), describeBinary(s.abs, b), formatSize(int64(len(b))))
	default:
		r.Text, err = selectLines(text, note, in, &out)
	}
	r.Data = out
	return r, err
}

// selectLines returns the requested lines. It adds a note if the result is not the complete file.
func selectLines(text, note string, in readIn, out *readOut) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out.Lines = len(lines)
	from := max(in.Offset, 1)
	if from > len(lines) {
		return "", tools.Errorf(tools.InvalidArguments, "the file has only %s", tools.Clean(textnorm.CountNoun(len(lines), "line", "lines")))
	}
	limit := in.Limit
	if limit == 0 || limit > shownLines {
		limit = shownLines
	}
	var b strings.Builder
	to := from - 1
	for to < len(lines) && to-from+1 < limit && b.Len()+len(lines[to]) <= shownBytes {
		b.WriteString(lines[to])
		to++
	}
	if to < from { // one line exceeds the limit of a result
		b.WriteString(strings.ToValidUTF8(lines[to][:shownBytes], ""))
		note = strings.TrimPrefix(note+"; the line is cut off", "; ")
		to++
	}
	out.From, out.To = from, to
	if from > 1 || to < len(lines) {
		more := fmt.Sprintf("lines %d to %d of %d", from, to, len(lines))
		if to < len(lines) {
			more += fmt.Sprintf("; continue with offset %d", to+1)
		}
		note = strings.TrimPrefix(note+"; "+more, "; ")
	}
	if note != "" {
		return strings.TrimSuffix(b.String(), "\n") + "\n[" + note + "]", nil
	}
	return b.String(), nil
}

// touchedPaths returns the paths that a call would access, or nil if they are unknown.
func (f *Files) touchedPaths(given ...string) []string {
	var out []string
	for _, g := range given {
		s, err := f.openSpot(g)
		if err != nil {
			return nil
		}
		out = append(out, s.abs)
		s.Close()
	}
	return out
}
