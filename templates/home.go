package templates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// Editor reads and edits the text of the configuration.
type Editor interface {
	// Value returns the effective value of a key. set reports whether text itself sets the key.
	Value(text []byte, key string) (v any, set bool, err error)
	// Set sets a key to a TOML value. Comments and the order of keys are kept.
	Set(text []byte, key, value string) ([]byte, error)
	// Unset removes a key.
	Unset(text []byte, key string) ([]byte, error)
	// Check returns the errors in after that are not in before.
	Check(before, after []byte) error
}

// ResourceStore stores the resources of templates: goals, schedules and watchers.
type ResourceStore interface {
	// Reconcile changes the stored resources of all templates to the DesiredState in one
	// transaction. It keeps resources that the owner has changed; these no longer belong to the
	// template. It is idempotent.
	Reconcile(ctx context.Context, w DesiredState) (ApplyResult, error)
}

// DesiredState lists the resources that templates should have.
type DesiredState struct {
	Source    string     `json:"source"`                    // see SourceOf; "" if no template is in use
	Trusted   bool       `json:"trusted" schema:"optional"` // true for a built-in template; all other templates are untrusted text
	Goals     []Goal     `json:"goals" schema:"optional"`
	Schedules []Schedule `json:"schedules" schema:"optional"`
	Watchers  []Watcher  `json:"watchers" schema:"optional"`
	Dry       bool       `json:"dry" schema:"optional"` // report the changes but make none
}

// ApplyResult reports the changes that Reconcile made.
type ApplyResult struct {
	Made    []Resource `json:"made"`
	Removed []Resource `json:"removed"`
	Kept    []Resource `json:"kept"`   // changed by the owner, so no longer part of the template
	Failed  []Resource `json:"failed"` // could not be created
}

// Resource is a goal, a schedule, a reminder or a watcher.
type Resource struct {
	What string `json:"what"`
	ID   string `json:"id,omitempty"`
	Text string `json:"text"` // text for the owner
	Why  string `json:"why,omitempty"`
}

// Options of NewHome.
type Options struct {
	Dir    string // Hob's private folder for the state and the journal
	Config string // path of config.toml
	Soul   string // path of SOUL.md
	// Persona is the personality that is used if SOUL.md does not exist.
	Persona string
	Editor  Editor
	Things  ResourceStore
	// Write atomically and durably replaces a private file.
	Write func(path string, data []byte) error
	// Step is called at each point where a test may simulate a crash. It may be nil.
	Step func(name string)
	Now  func() time.Time // default: time.Now
}

// Installation manages the template in use, if there is one. The caller must ensure that only one
// process uses it at a time.
type Installation struct{ opt Options }

// NewHome checks the options and does no I/O.
func NewHome(opt Options) (*Installation, error) {
	if opt.Dir == "" || opt.Config == "" || opt.Soul == "" || opt.Editor == nil || opt.Things == nil || opt.Write == nil {
		return nil, errors.New("templates: Dir, Config, Soul, Editor, Things and Write are required")
	}
	if opt.Step == nil {
		opt.Step = func(string) {}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Installation{opt}, nil
}

// State records the template in use.
type State struct {
	Name    string    `json:"name"` // "" if no template is in use
	Version string    `json:"version,omitempty"`
	Origin  Origin    `json:"origin,omitempty"`
	Path    string    `json:"path,omitempty"`
	At      time.Time `json:"at"`
	// Config and Soul are the files before and after the template was installed.
	Config fileChange `json:"config"`
	Soul   fileChange `json:"soul"`
	// Skills are the skills of the template, which are removed together with it.
	Skills []Skill `json:"skills,omitempty"`
}

// stateFile holds State.
const stateFile = "state.json"

// journalFile contains an unfinished change.
const journalFile = "journal.json"

// fileChange is the text of a file before and after a change. A nil text means that the file does
// not exist.
type fileChange struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// journal describes one change. It is written before the first file is changed. When the change is
// complete, its State becomes the new state.
type journal struct {
	State  State        `json:"state"`
	Config fileChange   `json:"config"` // text before and after
	Soul   fileChange   `json:"soul"`
	Wanted DesiredState `json:"wanted"`
}

func (h *Installation) statePath() string   { return filepath.Join(h.opt.Dir, stateFile) }
func (h *Installation) journalPath() string { return filepath.Join(h.opt.Dir, journalFile) }

// State reads which template is in use.
func (h *Installation) State() (State, error) { return InUse(h.opt.Dir) }

// Pending reports whether a change was started but not finished.
func (h *Installation) Pending() (bool, error) { return Unfinished(h.opt.Dir) }

// Unfinished does the same as Installation.Pending, but for the state folder dir (Options.Dir).
func Unfinished(dir string) (bool, error) {
	switch _, err := os.Stat(filepath.Join(dir, journalFile)); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}

func readJSON(path string, v any) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return true, fmt.Errorf("%s is damaged (%w); nothing was changed; the file contains your original configuration and personality as text", path, err)
	}
	return true, nil
}

// maxFile is the maximum size of a merged file, in bytes.
const maxFile = 1 << 20

// readText reads a file. It returns nil if the file does not exist.
func readText(path string) (*string, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxFile) {
		return nil, fmt.Errorf("%s is not a text file of at most %d KB; move the file elsewhere", path, maxFile>>10)
	}
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%s is not valid UTF-8; save it as UTF-8", path)
	}
	s := string(b)
	return &s, nil
}

func isEqualText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// putFile writes s to the file, or removes the file if s is nil.
func (h *Installation) putFile(path string, s *string) error {
	if s != nil {
		return h.opt.Write(path, []byte(*s))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Finish completes a change that a crash interrupted, and reports whether there was one. It also
// returns the paths of the saved copies of files that were edited after the crash.
func (h *Installation) Finish(ctx context.Context) (kept []string, there bool, err error) {
	var j journal
	there, err = readJSON(h.journalPath(), &j)
	if err != nil || !there {
		return nil, there, err
	}
	_, kept, err = h.carryOut(ctx, j)
	return kept, true, err
}

// carryOut performs the change in the journal, or the part of it that is not done yet.
func (h *Installation) carryOut(ctx context.Context, j journal) (done ApplyResult, kept []string, err error) {
	h.opt.Step("template.journal")
	if done, err = h.opt.Things.Reconcile(ctx, j.Wanted); err != nil {
		return done, nil, err
	}
	h.opt.Step("template.things")
	if kept, err = h.reconcileFile(h.opt.Config, j.Config, h.mergeOurs, h.opt.Editor.Check); err != nil {
		return done, kept, err
	}
	h.opt.Step("template.config")
	more, err := h.reconcileFile(h.opt.Soul, j.Soul, mergeTheirs, func(_, _ []byte) error { return nil })
	if kept = append(kept, more...); err != nil {
		return done, kept, err
	}
	h.opt.Step("template.soul")
	b, err := json.Marshal(j.State)
	if err != nil {
		return done, kept, err
	}
	if err := h.opt.Write(h.statePath(), b); err != nil {
		return done, kept, err
	}
	h.opt.Step("template.state")
	return done, kept, os.Remove(h.journalPath())
}

// reconcileFile changes a file from p.Before to p.After. The file may already have the new text. If
// it was edited after a crash, the change is merged into the edited file, unless the file already
// contains the change. If the result of the merge is invalid, the edited file is kept. Text that
// would be lost is saved as a copy.
func (h *Installation) reconcileFile(path string, p fileChange, merged func(base, ours, theirs string) string, check func(before, after []byte) error) (kept []string, err error) {
	now, err := readText(path)
	if err != nil || isEqualText(now, p.After) {
		return nil, err
	}
	if isEqualText(now, p.Before) {
		return nil, h.putFile(path, p.After)
	}
	if isNearer(textOf(now), textOf(p.After), textOf(p.Before)) {
		return nil, nil
	}
	out := merged(textOf(p.Before), textOf(now), textOf(p.After))
	name, aside := filepath.Base(path), now
	fits := check([]byte(textOf(now)), []byte(out)) == nil
	if !fits {
		name, aside = "wanted-"+name, p.After
	}
	if aside != nil {
		where, err := h.saveCopy(name, *aside)
		if err != nil {
			return nil, err
		}
		kept = []string{where}
	}
	switch {
	case !fits:
		return kept, nil
	case out == "" && p.After == nil:
		return kept, h.putFile(path, nil)
	}
	return kept, h.putFile(path, &out)
}

// isNearer reports whether s differs from a in fewer lines than from b.
func isNearer(s, a, b string) bool {
	count := func(from string) (n int) {
		for _, x := range diffLines(splitLines(from), splitLines(s)) {
			n += x.to - x.from + len(x.lines)
		}
		return n
	}
	return count(a) <= count(b)
}

// saveCopy saves s as a copy and returns the copy's path.
func (h *Installation) saveCopy(name, s string) (string, error) {
	path := filepath.Join(h.opt.Dir, "kept", h.opt.Now().UTC().Format("20060102T150405.000")+"-"+name)
	return path, h.opt.Write(path, []byte(s))
}
