package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of one search. The result mentions each limit that was reached.
const (
	maxVisited = 20_000
	maxFound   = 100
	maxPerFile = 5
	maxScanned = 256 << 20
	maxLine    = 200 // maximum characters shown per line
)

type searchIn struct {
	Path    string `json:"path,omitempty" jsonschema:"folder; empty: all"`
	Query   string `json:"query" jsonschema:"text to find"`
	Pattern string `json:"pattern,omitempty" jsonschema:"glob such as *.md"`
}

// searchMatch is one row in the Data of search_files.
type searchMatch struct {
	Path string `json:"path"`           // relative to the folder, with slashes
	Line int    `json:"line,omitempty"` // line number, starting at 1; 0 if the name matches
	Text string `json:"text,omitempty"`
}

type searchOut struct {
	Path     string        `json:"path"`
	Matches  []searchMatch `json:"matches"`
	Searched int           `json:"searched"` // number of files whose content was read
	Complete bool          `json:"complete"`
}

func (f *Files) searchFiles() tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "search_files", Category: "files", Effects: tools.Read, Core: true,
			Description: "Find files under a folder by name or content.",
			Keywords:    "grep look for find file text containing",
		},
		Paths: func(in searchIn) []string { return f.touchedPaths(in.Path) },
		Summary: func(in searchIn) string {
			return fmt.Sprintf("Search %s for %q", in.describeSearch(), textnorm.Ellipsize(in.Query, 60))
		},
		Run: f.runSearch,
	})
}

// search is one run of search_files.
type search struct {
	f       *Files
	w       *treeWalk
	query   string // lower case
	out     searchOut
	scanned int64
	names   bool                // the index contains only names
	copied  []provenance.Origin // origins of matches whose content is known to be untrusted
}

func (f *Files) runSearch(ctx context.Context, _ tools.Call, in searchIn) (tools.Result, error) {
	query := strings.ToLower(strings.TrimSpace(in.Query))
	if query == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "the query is empty; list_directory lists a folder")
	}
	pattern, err := newGlob(in.Pattern)
	if err != nil {
		return tools.Result{}, err
	}
	if strings.TrimSpace(in.Path) == "" {
		return f.searchAll(ctx, in, query, pattern)
	}
	s, err := f.folderAt(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	dir, err := s.openFolder()
	if err != nil {
		return tools.Result{}, f.describeFileError("search", s, err)
	}
	defer func() { _ = dir.Close() }()
	r := &search{f: f, query: query, out: searchOut{Path: s.abs, Matches: []searchMatch{}}}
	r.w = &treeWalk{f: f, recursive: true, hidden: pattern.hasHiddenPattern(), limit: maxVisited, visit: func(e walkEntry) error {
		if !pattern.isMatch(e.rel) {
			return nil
		}
		return r.searchEntry(ctx, e)
	}}
	if err := r.w.walkTree(ctx, dir, s.abs); err != nil {
		return tools.Result{}, f.describeFileError("search", s, err)
	}
	said := r.w.skippedText()
	r.out.Complete = said == ""
	result := tools.Result{Source: provenance.Tool, Text: r.resultText(s.displayName(), in.Query, said), Data: r.out}
	result.Source, result.Origins = f.folderProvenance(ctx, s)
	if r.copied != nil && !result.Source.Tainted() {
		result.Source, result.Origins = provenance.Outside, r.copied
	}
	if len(r.out.Matches) == 0 && len(r.w.heavies) == 0 {
		result.Source, result.Origins = provenance.Tool, nil // the result contains no text by other people
	}
	return result, nil
}

func (r *search) searchEntry(ctx context.Context, e walkEntry) error {
	if strings.Contains(strings.ToLower(e.name), r.query) {
		r.out.Matches = append(r.out.Matches, searchMatch{Path: e.rel})
	}
	if e.info.Mode().IsRegular() {
		if err := r.searchLines(ctx, e); err != nil {
			return err
		}
	}
	if len(r.out.Matches) >= maxFound {
		r.w.stopped = "the search stopped after " + textnorm.CountNoun(maxFound, "match", "matches")
		return errStop
	}
	return nil
}

func (r *search) searchLines(ctx context.Context, e walkEntry) error {
	if r.scanned+e.info.Size() > maxScanned {
		r.w.stopped = "the search stopped after " + formatSize(maxScanned) + " of text"
		return errStop
	}
	b, err := readRegular(e.dir, e.name, e.rel, r.f.opt.MaxFile)
	if errors.Is(err, errTooLarge) {
		r.w.left["item larger than "+formatSize(r.f.opt.MaxFile)]++
		return nil
	}
	if errors.Is(err, ErrLinked) {
		r.w.left["item with several hard links"]++
		return nil
	}
	if err != nil {
		r.w.left["unreadable item"]++
		return nil //nolint:nilerr // the result mentions unreadable items
	}
	r.scanned += int64(len(b))
	text, _, ok := decodeText(b)
	if !ok {
		r.w.left["binary item"]++
		return nil
	}
	r.out.Searched++
	found := 0
	for n, line := range strings.Split(text, "\n") {
		if !strings.Contains(strings.ToLower(line), r.query) {
			continue
		}
		if found++; found > maxPerFile {
			r.w.left["further match in a file with more than 5"]++
			continue
		}
		r.out.Matches = append(r.out.Matches, searchMatch{Path: e.rel, Line: n + 1, Text: excerptAround(line, r.query)})
	}
	if found > 0 && r.copied == nil {
		if list, is, err := r.f.marks.copyOf(ctx, b); is || err != nil {
			r.copied = append([]provenance.Origin{{Kind: "file", Label: r.f.displayPath(e.abs)}}, list...)
		}
	}
	return nil
}

// excerptAround shortens a long line to the part around the query.
func excerptAround(line, query string) string {
	line = strings.TrimSpace(printableName(strings.ReplaceAll(line, "\t", " ")))
	if i := strings.Index(strings.ToLower(line), query); i > maxLine/2 && i < len(line) {
		line = "…" + strings.ToValidUTF8(line[i-maxLine/4:], "")
	}
	return textnorm.Ellipsize(line, maxLine)
}

func (r *search) resultText(shown, query, said string) string {
	var b strings.Builder
	if len(r.out.Matches) == 0 {
		fmt.Fprintf(&b, "Nothing in %s contains %q (%s searched).", shown, textnorm.Ellipsize(query, 80), textnorm.CountNoun(r.out.Searched, "text file", "text files"))
	} else {
		fmt.Fprintf(&b, "%s for %q in %s:", textnorm.CountNoun(len(r.out.Matches), "match", "matches"), textnorm.Ellipsize(query, 80), shown)
	}
	for _, m := range r.out.Matches {
		b.WriteString("\n- " + printableName(m.Path))
		switch {
		case m.Line > 0:
			fmt.Fprintf(&b, ":%d: %s", m.Line, m.Text)
		case m.Text != "":
			b.WriteString(" " + m.Text)
		}
	}
	if said != "" {
		b.WriteString("\n" + said)
	}
	return b.String()
}
