package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system/fileindex"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Index is the system's file index; *fileindex.Index implements it.
type Index interface {
	Find(ctx context.Context, text string, roots []string) (fileindex.Found, error)
}

// searchAll searches all allowed folders. The system's index finds candidates; each candidate is
// resolved, checked and read like any other file. Candidates outside the allowed folders are
// dropped. Without an index, or if the index finds no match, the folders are walked.
func (f *Files) searchAll(ctx context.Context, in searchIn, query string, pattern glob) (tools.Result, error) {
	if len(f.allowed) == 0 {
		return tools.Result{}, f.notAllowed(in.Path, "")
	}
	r := &search{f: f, query: query, out: searchOut{Matches: []searchMatch{}}}
	r.w = &treeWalk{f: f, recursive: true, hidden: pattern.hasHiddenPattern(), limit: maxVisited, left: map[string]int{}}
	var by fileindex.Found
	var err error
	if f.opt.Index != nil {
		if by, err = f.opt.Index.Find(ctx, in.Query, f.resolvedRoots()); err == nil {
			err = r.searchIndexed(ctx, by, pattern)
		}
		if err != nil && ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
	}
	indexed := len(r.out.Matches) > 0
	if !indexed { // the limits of the search in the index do not apply to the walk
		r.w.stopped, r.w.left, r.scanned = "", map[string]int{}, 0
		if err := r.walkAll(ctx, pattern); err != nil {
			return tools.Result{}, err
		}
	}
	said := r.w.skippedText()
	switch {
	case indexed && by.Names:
		said = strings.TrimSpace(said + "\n(" + by.By + " searches names only: to search in files, name a folder.)")
	case indexed:
		said = strings.TrimSpace(said + "\n(Found by " + by.By + ", which may miss the newest files.)")
	}
	r.out.Complete = said == ""
	result := tools.Result{Source: provenance.Tool, Text: r.resultText("your folders", in.Query, said), Data: r.out}
	if len(r.out.Matches) > 0 || len(r.w.heavies) > 0 {
		result.Source, result.Origins = r.matchSources(ctx)
	}
	return result, nil
}

// resolvedRoots returns the allowed folders with their links resolved, because an index contains
// resolved paths.
func (f *Files) resolvedRoots() (out []string) {
	for _, a := range f.allowed {
		if real, err := filepath.EvalSymlinks(a); err == nil {
			a = real
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// searchIndexed checks each file that the index returned.
func (r *search) searchIndexed(ctx context.Context, found fileindex.Found, pattern glob) error {
	r.names = found.Names
	if found.Cut {
		r.w.stopped = "the index has more results"
	}
	for _, path := range found.Paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.searchPath(ctx, path, pattern)
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// searchPath checks one path. It skips files that are protected, hidden, missing or outside the
// allowed folders, and does not count them, because an index may return many of them.
func (r *search) searchPath(ctx context.Context, path string, pattern glob) error {
	s, err := r.f.openSpot(path)
	if err != nil || s.info == nil || s.rel == "." || s.linked {
		if s != nil {
			s.Close()
		}
		return nil //nolint:nilerr // skipped paths are not counted
	}
	defer s.Close()
	if r.outOfSight(s.rel) || s.info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil
	}
	dir, _, err := s.openParent(false)
	if err != nil {
		return nil //nolint:nilerr // the file was removed in the meantime
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	e := walkEntry{dir: dir, name: name, rel: r.f.displayPath(s.abs), abs: s.abs, info: s.info}
	if !pattern.isMatch(filepath.ToSlash(s.rel)) {
		return nil
	}
	before, read := len(r.out.Matches), r.out.Searched
	err = r.searchEntry(ctx, e)
	// The index may match another form of the word, so a file that does not contain the exact text
	// also counts as a match.
	if err == nil && len(r.out.Matches) == before && r.out.Searched == read && !r.names && s.info.Mode().IsRegular() && oneName(dir, name, s.errorLabel(), s.info, "") == nil {
		r.out.Matches = append(r.out.Matches, searchMatch{Path: e.rel, Text: "(match in the text, reported by the index)"})
	}
	return err
}

// outOfSight reports whether a walk skips an entry: hidden and heavy folders, and hidden names
// unless they are requested.
func (r *search) outOfSight(rel string) bool {
	return slices.ContainsFunc(splitPath(rel), func(c string) bool {
		return !r.w.hidden && strings.HasPrefix(c, ".") || slices.Contains(heavyFolders, strings.ToLower(c))
	})
}

// walkAll walks the allowed folders. The limits apply to all folders together.
func (r *search) walkAll(ctx context.Context, pattern glob) error {
	left := map[string]int{}
	for _, root := range r.f.resolvedRoots() {
		if slices.ContainsFunc(r.f.resolvedRoots(), func(o string) bool { _, in := relativeTo(o, root); return in && o != root }) {
			continue // another allowed folder contains this folder
		}
		s, err := r.f.openSpot(root)
		if err != nil {
			left[fmt.Sprintf("folder %s", r.f.displayPath(root))]++
			continue
		}
		dir, err := s.openFolder()
		if err != nil {
			s.Close()
			left[fmt.Sprintf("folder %s", r.f.displayPath(root))]++
			continue
		}
		r.w.visit = func(e walkEntry) error {
			if !pattern.isMatch(e.rel) {
				return nil
			}
			e.rel = r.f.displayPath(e.abs)
			return r.searchEntry(ctx, e)
		}
		err = r.w.walkTree(ctx, dir, s.abs)
		_ = dir.Close()
		s.Close()
		if err != nil {
			return err
		}
		for k, n := range r.w.left {
			left[k] += n
		}
		if r.w.stopped != "" {
			break
		}
	}
	r.w.left = left
	return nil
}

// matchSources returns the provenance of the matches. The result is trusted only if all matches are
// in trusted folders.
func (r *search) matchSources(ctx context.Context) (provenance.Source, []provenance.Origin) {
	source, list := provenance.Owner, []provenance.Origin(nil)
	for _, root := range r.f.resolvedRoots() {
		s, err := r.f.openSpot(root)
		if err != nil {
			continue
		}
		one, from := r.f.folderProvenance(ctx, s)
		s.Close()
		if one.Tainted() {
			source, list = provenance.Outside, provenance.Join(list, from)
		}
	}
	if r.copied != nil {
		source, list = provenance.Outside, provenance.Join(list, r.copied)
	}
	return source, list
}

// describeSearch describes a search for an approval request.
func (in searchIn) describeSearch() string {
	if strings.TrimSpace(in.Path) == "" {
		return "all folders"
	}
	return textnorm.Ellipsize(in.Path, 200)
}
