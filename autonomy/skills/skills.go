// Package skills finds those skills of the active template that match a request. Package prompt
// uses it in each turn.
package skills

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/templates"
)

// Active holds the skills of the active template. It follows changes to the template while Hob
// runs. Its methods may be called concurrently.
type Active struct {
	dir string // folder in which the templates keep their state

	mu     sync.Mutex
	at     time.Time // modification time of the state that was read
	size   int64
	list   []templates.Skill
	source provenance.Source
}

// New returns the skills of the template whose state is in the folder dir. It does no I/O.
func New(dir string) *Active { return &Active{dir: dir} }

// Index implements prompt.Skills. Text from templates must not appear above the conversation,
// because text there never counts as untrusted.
func (*Active) Index() string { return "" }

// maxMatching is the maximum number of skills per turn.
const maxMatching = 2

// Matching implements prompt.Skills. Skills of a template that is not built in are untrusted text,
// like all actions of the template.
func (s *Active) Matching(_ context.Context, text string) ([]prompt.Note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshState(); err != nil {
		return nil, err
	}
	type fit struct {
		templates.Skill
		n int
	}
	var found []fit
	for _, k := range s.list {
		if n := k.Fits(text); n > 0 {
			found = append(found, fit{k, n})
		}
	}
	slices.SortStableFunc(found, func(a, b fit) int { return cmp.Compare(b.n, a.n) })
	var out []prompt.Note
	for _, f := range found[:min(len(found), maxMatching)] {
		out = append(out, prompt.Note{Title: f.Name, Text: f.Text, Source: s.source})
	}
	return out, nil
}

// refreshState reads the state if it has changed. The caller must hold mu.
func (s *Active) refreshState() error {
	fi, err := os.Stat(templates.StatePath(s.dir))
	if errors.Is(err, fs.ErrNotExist) {
		s.list, s.at, s.size = nil, time.Time{}, 0 // the state file may be restored unchanged
		return nil
	}
	if err != nil {
		return err
	}
	if fi.ModTime().Equal(s.at) && fi.Size() == s.size {
		return nil
	}
	now, err := templates.InUse(s.dir)
	if err != nil {
		s.list = nil
		return err
	}
	s.list, s.source = now.Skills, provenance.Outside
	if now.Origin == templates.Builtin && templates.IsBuiltin(now.Name) {
		s.source = provenance.Hob
	}
	s.at, s.size = fi.ModTime(), fi.Size()
	return nil
}
