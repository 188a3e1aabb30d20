// Package rules implements the owner's own rules for tool calls. The rules are files in the policy
// folder, in Cedar (*.cedar) and, in a build with the tag rego, in Rego (*.rego). The guard
// evaluates them for each call. They can only restrict: a rule denies a call or requires approval;
// permits have no effect.
//
// The package fails closed. The guard denies a call after any error: a file that cannot be read or
// parsed, a rule that fails on the call, or an evaluation that takes too long. The package reads
// nothing before the first call. A change to the folder takes effect at the next call.
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
	"hob/platform/text/sorting"
)

// Limits of a policy folder.
const (
	maxFile  = 1 << 20 // in bytes
	maxFiles = 200
)

// Rule describes one rule in a list.
type Rule struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "deny", "ask", or "permit", which has no effect
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// engine compiles and evaluates the rules in one language.
type engine interface {
	// compileFiles compiles all files in the language together. An error includes the file, the
	// line and the remedy.
	compileFiles(files []file) (compiledRules, error)
}

// compiledRules is a set of compiled rules. It may be used concurrently.
type compiledRules interface {
	listRules() []Rule
	// evaluateRules returns the objections to a call. It returns soon after ctx ends.
	evaluateRules(ctx context.Context, f guard.RuleInput) ([]guard.RuleVerdict, error)
}

type file struct {
	name string
	text []byte
}

// enginesByExt returns the engines of this build by file extension.
func enginesByExt() map[string]engine {
	all := map[string]engine{".cedar": cedarEngine{}, ".rego": noRego{}}
	maps.Copy(all, builtIn())
	return all
}

// ErrNoRego is the error for *.rego files in a build without Rego.
var ErrNoRego = errors.New("this build of hob cannot read Rego rules; build it with -tags rego, or write them in Cedar")

// noRego replaces the Rego engine in a build that does not include it.
type noRego struct{}

func (noRego) compileFiles(files []file) (compiledRules, error) {
	return nil, fmt.Errorf("%s: %w", files[0].name, ErrNoRego)
}

// Options holds the options of New.
type Options struct {
	// Budget is the time limit for all rules on one call (default 250 ms).
	Budget time.Duration
	// Roles returns the roles of people and agents. Nil means that no one has a role.
	Roles Roles
}

// Roles returns the roles of people and agents by name. *config.Config implements it.
type Roles interface {
	PersonRoles(name string) []string
	AgentRoles(name string) []string
}

// addRoles adds the roles to the input, unless the input already has roles.
func (r *Rules) addRoles(f guard.RuleInput) guard.RuleInput {
	if r.opt.Roles == nil {
		return f
	}
	if f.Roles == nil {
		f.Roles = r.opt.Roles.PersonRoles(personName(f))
	}
	if f.AgentRoles == nil {
		f.AgentRoles = r.opt.Roles.AgentRoles(agentName(f))
	}
	return f
}

// Rules holds the rules in one folder. It may be used concurrently.
type Rules struct {
	dir string
	opt Options

	mu     sync.Mutex
	stamp  string
	loaded []compiledRules
	broken error
}

// New returns the rules in a folder. The folder may be missing.
func New(dir string, opt Options) *Rules {
	if opt.Budget <= 0 {
		opt.Budget = 250 * time.Millisecond
	}
	return &Rules{dir: dir, opt: opt}
}

// Dir returns the folder.
func (r *Rules) Dir() string { return r.dir }

// Readable returns an error if the folder contains files that this build cannot read. It does not
// open files, because it runs at every start.
func (r *Rules) Readable() error {
	entries, err := r.ruleFiles()
	if err != nil {
		return err
	}
	have := enginesByExt()
	for _, e := range entries {
		if _, missing := have[filepath.Ext(e.Name())].(noRego); missing {
			return fmt.Errorf("%s: %w", filepath.Join(r.dir, e.Name()), ErrNoRego)
		}
	}
	return nil
}

// Judge implements guard.Rules.
func (r *Rules) Judge(ctx context.Context, f guard.RuleInput) (guard.RuleVerdict, error) {
	programs, err := r.currentPrograms()
	if err != nil || len(programs) == 0 {
		return guard.RuleVerdict{Verdict: guard.Allow}, err
	}
	f = r.addRoles(f)
	ctx, cancel := context.WithTimeout(ctx, r.opt.Budget)
	defer cancel()
	worst := guard.RuleVerdict{Verdict: guard.Allow}
	for _, p := range programs {
		all, err := judgeWithRecover(func() ([]guard.RuleVerdict, error) { return p.evaluateRules(ctx, f) })
		if ctx.Err() != nil {
			return worst, fmt.Errorf("your rules took longer than %s; simplify them and check them with: hob policy check", r.opt.Budget)
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

// judgeWithRecover calls judge and converts a panic of an engine into an error.
func judgeWithRecover(judge func() ([]guard.RuleVerdict, error)) (all []guard.RuleVerdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a rule engine crashed: %v", p)
		}
	}()
	return judge()
}

// List returns the rules in file and line order.
func (r *Rules) List() ([]Rule, error) {
	programs, err := r.currentPrograms()
	out := []Rule{}
	for _, p := range programs {
		out = append(out, p.listRules()...)
	}
	sorting.StableByFunc(out, func(a, b Rule) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out, err
}

// currentPrograms returns the compiled rules. It reloads them if the folder has changed.
func (r *Rules) currentPrograms() ([]compiledRules, error) {
	entries, err := r.ruleFiles()
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
		r.loaded, r.broken = r.loadPrograms(entries)
		r.stamp = stamp
	}
	return r.loaded, r.broken
}

// ruleFiles returns the rule files in the folder. It ignores other files.
func (r *Rules) ruleFiles() ([]fs.DirEntry, error) {
	all, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy folder: %w; make the folder readable for your account", err)
	}
	known := enginesByExt()
	all = slices.DeleteFunc(all, func(e fs.DirEntry) bool { return known[filepath.Ext(e.Name())] == nil })
	if len(all) > maxFiles {
		return nil, fmt.Errorf("%s contains more than %d rule files; merge some of them", r.dir, maxFiles)
	}
	return all, nil
}

// stampOf returns a fingerprint of the folder's state.
func (r *Rules) stampOf(entries []fs.DirEntry) (string, error) {
	var b strings.Builder
	for _, e := range entries {
		fi, err := os.Stat(filepath.Join(r.dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("read rule file: %w; fix or remove it", err)
		}
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", e.Name(), fi.Size(), fi.ModTime().UnixNano())
	}
	return b.String() + "|", nil
}

// loadPrograms reads and compiles all files. One invalid file makes all of them fail, because a
// rule that is not applied would be an unnoticed gap.
func (r *Rules) loadPrograms(entries []fs.DirEntry) ([]compiledRules, error) {
	by := map[string][]file{}
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		fi, err := os.Stat(path)
		if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxFile) {
			err = fmt.Errorf("%s is not a rule file: must be a regular file of at most %d KB", path, maxFile>>10)
		}
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read rule file: %w; fix or remove it", err)
		}
		ext := filepath.Ext(e.Name())
		by[ext] = append(by[ext], file{name: path, text: text})
	}
	var out []compiledRules
	known := enginesByExt()
	for _, ext := range slices.Sorted(maps.Keys(by)) {
		p, err := known[ext].compileFiles(by[ext])
		if err != nil {
			return nil, fmt.Errorf("%w; fix or remove the file: every tool call is denied until then", err)
		}
		out = append(out, p)
	}
	return out, nil
}
