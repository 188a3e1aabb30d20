// Package fileindex queries the system's file index: Spotlight, Windows Search, and on Linux
// LocalSearch (Tracker), Baloo or plocate, whichever is installed. It returns paths from the index.
// The caller must check whether a file still exists and whether its name may be shown.
package fileindex

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
	"hob/platform/text/lazyregexp"
)

// ErrNone means that there is no index or that it does not respond. This is different from an empty
// result.
var ErrNone = errors.New("no file index found on this system")

// Found is the result of a search.
type Found struct {
	Paths []string
	By    string
	// Names is true if the index contains only file names and no content.
	Names bool
	// Cut is true if there are, or may be, more results.
	Cut bool
}

// Options of an Index; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs PowerShell; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout of a query (default 10 s).
	Wait time.Duration
}

// Index is the system's file index.
type Index struct {
	wait time.Duration
	back backend
}

type backend interface {
	findFiles(ctx context.Context, text string, roots []string) (Found, error)
}

// New returns an Index.
func New(o Options) *Index {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return &Index{o.Wait, newBackend(o)}
}

// Limits of a query.
const (
	maxText  = 200
	maxRoots = 8
	maxPaths = 500
)

// Find returns files below the roots whose name or content contains text.
func (x *Index) Find(ctx context.Context, text string, roots []string) (Found, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxText || strings.ContainsFunc(text, unicode.IsControl) {
		return Found{}, fmt.Errorf("%w for %q", ErrNone, text)
	}
	ctx, cancel := context.WithTimeout(ctx, x.wait)
	defer cancel()
	f, err := x.back.findFiles(ctx, text, roots[:min(maxRoots, len(roots))])
	if err != nil {
		return Found{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	f.Paths = pathsBelow(f.Paths, roots)
	f.Cut = f.Cut || len(f.Paths) > maxPaths
	f.Paths = f.Paths[:min(len(f.Paths), maxPaths)]
	return f, nil
}

// pathsBelow returns the absolute paths below the roots, without duplicates.
func pathsBelow(paths, roots []string) (out []string) {
	seen := map[string]bool{}
	for _, p := range paths {
		p = filepath.Clean(p)
		if !filepath.IsAbs(p) || seen[p] || strings.ContainsRune(p, 0) {
			continue
		}
		seen[p] = true
		for _, r := range roots {
			if rel, err := filepath.Rel(r, p); err == nil && filepath.IsLocal(rel) && rel != "." {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// spotlight queries the index of macOS (man mdfind).
type spotlight struct{ run osrun.Programs }

func (s spotlight) findFiles(ctx context.Context, text string, roots []string) (f Found, err error) {
	f.By = "Spotlight"
	for _, root := range roots {
		out, err := s.run.Run(ctx, nil, "/usr/bin/mdfind", "-0", "-onlyin", root, mdQuery(text))
		if err != nil {
			return f, err
		}
		f.Paths = append(f.Paths, splitNulTerminated(out)...)
	}
	return f, nil
}

// mdQuery returns a query for names and content ("File Metadata Query Expression Syntax",
// developer.apple.com). It escapes the four special characters inside quotes.
func mdQuery(text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `*`, `\*`, `'`, `\'`).Replace(text)
	return `kMDItemFSName == "*` + text + `*"cd || kMDItemTextContent == "` + text + `*"cd`
}

func splitNulTerminated(out []byte) (paths []string) {
	for p := range strings.SplitSeq(string(out), "\x00") {
		if p != "" && len(paths) <= 2*maxPaths {
			paths = append(paths, p)
		}
	}
	return paths
}

//go:embed search.ps1
var searchText string

func searchScript() osrun.Script { return osrun.NewScript("system/fileindex/search.ps1", searchText) }

// windowsSearch queries the SystemIndex of Windows.
type windowsSearch struct{ scripts osrun.Runner }

func (w windowsSearch) findFiles(ctx context.Context, text string, roots []string) (Found, error) {
	f := Found{By: "Windows Search"}
	for _, root := range roots {
		var a struct {
			Paths []string `json:"paths"`
		}
		if err := w.scripts.Run(ctx, osrun.Call{Script: searchScript(), In: sqlRequest{searchSQL(text, root)}}, &a); err != nil {
			return f, err
		}
		f.Paths, f.Cut = append(f.Paths, a.Paths...), f.Cut || len(a.Paths) >= maxPaths
	}
	return f, nil
}

type sqlRequest struct {
	SQL string `json:"sql"`
}

// searchSQL returns a query for Windows Search, which supports no parameters
// (learn.microsoft.com, "Querying the Index with Windows Search SQL Syntax").
func searchSQL(text, root string) string {
	like := strings.NewReplacer("'", "''", "%", "[%]", "_", "[_]", "[", "[[]").Replace(text)
	words := strings.NewReplacer("'", "''", `"`, " ").Replace(text)
	scope := strings.ReplaceAll(strings.ReplaceAll(root, `\`, "/"), "'", "''")
	return fmt.Sprintf("SELECT TOP %d System.ItemPathDisplay FROM SystemIndex WHERE SCOPE='file:%s' AND (System.FileName LIKE '%%%s%%' OR CONTAINS(System.Search.Contents,'\"%s*\"'))",
		maxPaths, scope, like, words)
}

// plocate queries the index of plocate, the successor of mlocate. The index contains only names.
type plocate struct{ run osrun.Programs }

func (p plocate) findFiles(ctx context.Context, text string, roots []string) (Found, error) {
	f := Found{By: "plocate", Names: true}
	for _, root := range roots {
		// Both patterns must match; the pattern of the name contains no slash.
		out, err := p.run.Run(ctx, nil, "plocate", "-i", "-0", "-l", fmt.Sprint(8*maxPaths), "--", escapeGlob(strings.TrimRight(root, "/")+"/")+"*", "*"+escapeGlob(text)+"*")
		if failed, ok := errors.AsType[*osrun.Failure](err); ok && failed.Said == "" && ctx.Err() == nil {
			continue // if nothing matches, plocate exits with status 1 and prints nothing
		}
		if err != nil {
			return f, err
		}
		list := strings.Split(string(out), "\x00")
		f.Cut = f.Cut || len(list) > 8*maxPaths
		for _, path := range list {
			if strings.Contains(strings.ToLower(filepath.Base(path)), strings.ToLower(text)) {
				f.Paths = append(f.Paths, path)
			}
		}
	}
	return f, nil
}

// escapeGlob escapes the characters in text that are special in a glob pattern.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

// tracker queries LocalSearch, formerly called Tracker.
type tracker struct{ run osrun.Programs }

var (
	escapes = lazyregexp.New("\x1b\\[[0-9;]*[A-Za-z]")
	fileURI = lazyregexp.New(`file://[^\s"'<>]+`)
)

func (t tracker) findFiles(ctx context.Context, text string, _ []string) (f Found, err error) {
	f.By = "LocalSearch"
	args := []string{"search", "--disable-snippets", "--disable-color", fmt.Sprintf("--limit=%d", maxPaths), "--", text}
	program := "localsearch"
	if t.run.Find(program) == "" {
		program, args = "tracker3", append([]string{"search", "--files"}, args[1:]...)
	}
	out, err := t.run.Run(ctx, nil, program, args...)
	f.Paths = readURIs(out)
	f.Cut = len(f.Paths) >= maxPaths // the limit applies to all folders, not only to the roots
	return f, err
}

func readURIs(out []byte) (paths []string) {
	for _, m := range fileURI.FindAllString(escapes.ReplaceAllString(string(out), ""), maxPaths) {
		u, err := url.Parse(m)
		if err == nil && (u.Host == "" || u.Host == "localhost") && u.Path != "" {
			paths = append(paths, u.Path)
		}
	}
	return paths
}

// baloo queries KDE's index.
type baloo struct{ run osrun.Programs }

func (b baloo) findFiles(ctx context.Context, text string, roots []string) (f Found, err error) {
	f.By = "Baloo"
	program := "baloosearch6"
	if b.run.Find(program) == "" {
		program = "baloosearch"
	}
	for _, root := range roots {
		out, err := b.run.Run(ctx, nil, program, "-l", fmt.Sprint(maxPaths), "-d", root, "--", text)
		if err != nil {
			return f, err
		}
		list := strings.Split(strings.TrimSpace(string(out)), "\n")
		f.Paths, f.Cut = append(f.Paths, list...), f.Cut || len(list) >= maxPaths
	}
	return f, nil
}

// unixIndex queries the installed programs one after another, starting with the full-text indexes.
// It tries the next program if one fails or its index is empty.
type unixIndex struct{ run osrun.Programs }

func (u unixIndex) findFiles(ctx context.Context, text string, roots []string) (best Found, _ error) {
	errs := []error{osrun.ErrNoProgram}
	answered := false
	for _, b := range []struct {
		programs []string
		backend
	}{{[]string{"localsearch", "tracker3"}, tracker(u)}, {[]string{"baloosearch6", "baloosearch"}, baloo(u)}, {[]string{"plocate"}, plocate(u)}} {
		if u.run.Find(b.programs...) == "" {
			continue
		}
		f, err := b.findFiles(ctx, text, roots)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(pathsBelow(f.Paths, roots)) > 0:
			return f, nil
		case !answered:
			best, answered = f, true
		}
	}
	if !answered {
		return Found{}, errors.Join(errs...)
	}
	return best, nil
}
