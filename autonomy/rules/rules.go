// Package rules are the owner's own rules about tool calls: the files of the
// policy folder, in Cedar (*.cedar) and, in a build with the tag rego, in Rego
// (*.rego). The guard asks them about each call. They can only tighten: a rule
// denies a call or has the owner asked; what one permits changes nothing.
//
// It fails closed. A file that cannot be read or understood, a rule that breaks
// on a call, an evaluation that takes too long: each is an error, and the guard
// denies the call. Nothing is read before the first call, and a change of the
// folder counts from the next call on.
package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/guard"
)

// Bounds of a policy folder.
const (
	maxFile  = 1 << 20 // bytes
	maxFiles = 200
)

// Rule is one rule, as lists show it.
type Rule struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "deny", "ask", or "permit", which changes nothing
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// engine understands the rules of one language.
type engine interface {
	// compile reads the files of the language together. An error names the file,
	// the line and what to do.
	compile(files []file) (program, error)
}

// program are compiled rules. It may be used concurrently.
type program interface {
	rules() []Rule
	// judge returns the objections to a call. It returns soon after ctx ends.
	judge(ctx context.Context, f guard.Facts) ([]guard.Objection, error)
}

type file struct {
	name string
	text []byte
}

// engines are those of this build, by the ending of their files.
func engines() map[string]engine {
	all := map[string]engine{".cedar": cedarEngine{}, ".rego": noRego{}}
	maps.Copy(all, builtIn())
	return all
}

// ErrNoRego is the error of *.rego files in a build that cannot read them.
var ErrNoRego = errors.New("this build of hob cannot read Rego rules; build it with -tags rego, or write them in Cedar")

// noRego stands for the engine that this build does not have.
type noRego struct{}

func (noRego) compile(files []file) (program, error) {
	return nil, fmt.Errorf("%s: %w", files[0].name, ErrNoRego)
}

// Options of New.
type Options struct {
	// Budget is how long the rules may take for one call (default 250 ms).
	Budget time.Duration
}

// Rules are those of one folder. It may be used concurrently.
type Rules struct {
	dir string
	opt Options

	mu     sync.Mutex
	stamp  string
	loaded []program
	broken error
}

// New makes the rules of a folder, which need not be there.
func New(dir string, opt Options) *Rules {
	if opt.Budget <= 0 {
		opt.Budget = 250 * time.Millisecond
	}
	return &Rules{dir: dir, opt: opt}
}

// Dir is the folder.
func (r *Rules) Dir() string { return r.dir }

// Readable tells of files in the folder that this build can never read. It opens
// none of them: it is asked at every start.
func (r *Rules) Readable() error {
	entries, err := r.entries()
	if err != nil {
		return err
	}
	have := engines()
	for _, e := range entries {
		if _, missing := have[filepath.Ext(e.Name())].(noRego); missing {
			return fmt.Errorf("%s: %w", filepath.Join(r.dir, e.Name()), ErrNoRego)
		}
	}
	return nil
}

// Judge implements guard.Rules.
func (r *Rules) Judge(ctx context.Context, f guard.Facts) (guard.Objection, error) {
	programs, err := r.current()
	if err != nil || len(programs) == 0 {
		return guard.Objection{Verdict: guard.Allow}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.opt.Budget)
	defer cancel()
	worst := guard.Objection{Verdict: guard.Allow}
	for _, p := range programs {
		all, err := contained(func() ([]guard.Objection, error) { return p.judge(ctx, f) })
		if ctx.Err() != nil {
			return worst, fmt.Errorf("your rules took longer than %s; make them simpler (hob policy check)", r.opt.Budget)
		}
		if err != nil {
			return worst, err
		}
		for _, o := range all {
			if o.Verdict < worst.Verdict || o.Verdict == worst.Verdict && o.Rule < worst.Rule && o.Verdict != guard.Allow {
				worst = o
			}
		}
	}
	return worst, nil
}

// contained turns a panic of an engine into an error.
func contained(judge func() ([]guard.Objection, error)) (all []guard.Objection, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("an engine of your rules broke down: %v", p)
		}
	}()
	return judge()
}

// List returns the rules in the order of files and lines.
func (r *Rules) List() ([]Rule, error) {
	programs, err := r.current()
	out := []Rule{}
	for _, p := range programs {
		out = append(out, p.rules()...)
	}
	slices.SortStableFunc(out, func(a, b Rule) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out, err
}

// current returns the compiled rules, read anew when the folder has changed.
func (r *Rules) current() ([]program, error) {
	entries, err := r.entries()
	if err != nil {
		return nil, err
	}
	stamp, err := r.stampOf(entries)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if stamp != r.stamp {
		r.loaded, r.broken = r.load(entries)
		r.stamp = stamp
	}
	return r.loaded, r.broken
}

// entries are the rule files of the folder; other files are none of ours.
func (r *Rules) entries() ([]fs.DirEntry, error) {
	all, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the policy folder cannot be read: %w; give its owner the right to read it", err)
	}
	known := engines()
	all = slices.DeleteFunc(all, func(e fs.DirEntry) bool { return known[filepath.Ext(e.Name())] == nil })
	if len(all) > maxFiles {
		return nil, fmt.Errorf("%s holds more than %d files of rules; put them together", r.dir, maxFiles)
	}
	return all, nil
}

// stampOf tells one state of the folder from another.
func (r *Rules) stampOf(entries []fs.DirEntry) (string, error) {
	var b strings.Builder
	for _, e := range entries {
		fi, err := os.Stat(filepath.Join(r.dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("a file of rules cannot be read: %w; mend it or take it away", err)
		}
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", e.Name(), fi.Size(), fi.ModTime().UnixNano())
	}
	return b.String() + "|", nil
}

// load reads and compiles all files. A single one that is broken breaks all: a
// rule that is not applied would be a gap that nobody sees.
func (r *Rules) load(entries []fs.DirEntry) ([]program, error) {
	by := map[string][]file{}
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		fi, err := os.Stat(path)
		if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxFile) {
			err = fmt.Errorf("%s is no file of rules: it must be a plain file of at most %d KB", path, maxFile>>10)
		}
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("a file of rules cannot be read: %w; mend it or take it away", err)
		}
		ext := filepath.Ext(e.Name())
		by[ext] = append(by[ext], file{name: path, text: text})
	}
	var out []program
	known := engines()
	for _, ext := range slices.Sorted(maps.Keys(by)) {
		p, err := known[ext].compile(by[ext])
		if err != nil {
			return nil, fmt.Errorf("%w; mend it or take it away, until then every call is denied", err)
		}
		out = append(out, p)
	}
	return out, nil
}
