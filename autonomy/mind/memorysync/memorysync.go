// Package memorysync keeps USER.md and MEMORY.md in step with the facts of the memory. The user's
// edits add, change and retire facts, as one action that `hob undo` reverts. New, changed and
// forgotten facts change the files. Untrusted facts carry a mark, and a line without its mark is
// still the untrusted fact: only a text that the memory does not know yet becomes the user's.
// The statements of `hob memory user` are in step with USER.md in the same way. A new line of USER.md
// that is such a statement, such as "I prefer aisle seats", is one in addition to being a fact.
//
// The table memory_lines holds, per file, the lines on which the file and the memory agreed last, as
// digests. A line that is only in the file was added by the user, a line that is only in the table
// was removed by the user, and a fact that is in neither is new. Before a file is written, its new
// state is committed as "adding" and "removing", so that a run after a crash never mistakes Hob's
// own unfinished change for an edit by the user.
//
// The daemon runs it; commands without a daemon do not.
package memorysync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/mind/learn"
	"hob/autonomy/undo"
	"hob/knowledge"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/memoryfile"
)

// Target is the memory of one agent with its files.
type Target struct {
	// Name identifies the target in the table. It must not change.
	Name string
	// Instance is the name of this instance if several share the database. Each has its own files, and
	// a line that is only in the files of another one was not removed here.
	Instance string
	Realm    string
	// User is the file for facts about the user, and Memory that for all others. Without User, all
	// facts are in Memory.
	User, Memory string
}

// Options holds the options of New. Store, Base and Journal are required.
type Options struct {
	Store   *store.Store
	Base    *knowledge.Base
	Targets []Target
	// Learner has the user's statements for USER.md. It is optional.
	Learner *learn.Learner
	// Journal records an action that can be undone; see undo.Reverter.
	Journal func(*store.Tx, undo.Action) error
	// Hold is the hold after a restored backup, during which nothing is synchronized. It is optional.
	Hold *bus.Hold
	// Notify sends the user a notice, once per key. Nil means that problems are only logged.
	Notify func(ctx context.Context, key, text string) error
	// Zone returns the user's time zone. Nil means UTC.
	Zone func() *time.Location
	Off  bool         // Run does nothing; the files are only erased
	Log  *slog.Logger // nil discards all messages
}

// AgentTargets returns the targets of the configured agents. The facts of other agents than the default
// one are only in MEMORY.md, because an additional USER.md would replace the common one.
func AgentTargets(c *config.Config, p system.Paths) (out []Target) {
	instance := ""
	if c.Store.URL != "" {
		host, _ := os.Hostname() // without a name of the host, Hob does not start; see package recovery
		instance = cmp.Or(c.Store.Instance, host)
	}
	for _, name := range c.AgentNames() {
		s, _ := c.Member(name)
		if name == config.DefaultAgent {
			out = append(out, Target{Instance: instance, Realm: s.Realm, User: p.UserFile(), Memory: p.MemoryFile()})
			continue
		}
		out = append(out, Target{Name: name, Instance: instance, Realm: cmp.Or(s.Realm, name), Memory: filepath.Join(p.AgentDir(name), "MEMORY.md")})
	}
	return out
}

// Syncer synchronizes the files with the memory. Its methods may be called concurrently.
type Syncer struct {
	o    Options
	wake chan struct{}

	mu       sync.Mutex        // serializes the access to the files
	reported map[string]string // problem that was reported last, by path
}

// New returns a Syncer after checking the options.
func New(o Options) (*Syncer, error) {
	if o.Store == nil || o.Base == nil || o.Journal == nil {
		return nil, errors.New("memorysync: Options needs Store, Base and Journal")
	}
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	if o.Notify == nil {
		o.Notify = func(context.Context, string, string) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Syncer{o: o, wake: make(chan struct{}, 1), reported: map[string]string{}}, nil
}

// Migrations returns the table of this package. A line is named by its digest, so that the table
// keeps no text.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "memorysync", Steps: []string{`
CREATE TABLE memory_lines (
	file TEXT NOT NULL, pos INTEGER NOT NULL, digest TEXT NOT NULL, fact TEXT NOT NULL, listed INTEGER NOT NULL, state TEXT NOT NULL,
	PRIMARY KEY (file, pos)) WITHOUT ROWID;`}}
}

// Wake starts a synchronization soon. It never blocks. It does nothing on a nil Syncer.
func (s *Syncer) Wake() {
	if s == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Delays of Run. A change is settled if nothing changed for the first one, because editors may write
// a file in pieces.
const (
	settle    = 500 * time.Millisecond
	poll      = time.Minute     // interval of the checks if the system reports changes
	blindPoll = 5 * time.Second // otherwise
)

// Run synchronizes the files when they or the memory change, until ctx ends.
func (s *Syncer) Run(ctx context.Context) error {
	if s.o.Off {
		<-ctx.Done()
		return nil
	}
	for _, t := range s.o.Targets {
		for _, path := range t.filePaths() { // a leftover may contain a fact that is forgotten since
			if err := system.RemoveLeftovers(path); err != nil {
				s.o.Log.Warn("a temporary file beside USER.md or MEMORY.md was not removed", "err", err)
			}
		}
	}
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		s.o.Log.Info("the system does not report changes of files; checking USER.md and MEMORY.md regularly", "err", err)
		watch = &fsnotify.Watcher{} // reports nothing
	} else {
		defer func() { _ = watch.Close() }()
	}
	var seen string
	for due := true; ; {
		pause := poll
		if watch.Events == nil {
			pause = blindPoll
		}
		now := s.stampFiles(watch)
		switch {
		case now != seen && seen != "": // wait until the editor has finished
			due, pause = true, settle
		case due || now != seen:
			due = false
			if err := s.Sync(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("USER.md and MEMORY.md are not in step with the memory; Hob will try again", "err", err)
			}
			if s.stampFiles(watch) != now { // the files that were written are watched now; the next check finds other changes
				pause = settle
			}
		}
		seen = now
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
			due = true
			if retry.Sleep(ctx, settle) != nil {
				return nil
			}
		case <-watch.Events:
			if retry.Sleep(ctx, settle) != nil {
				return nil
			}
			for len(watch.Events) > 0 {
				<-watch.Events
			}
		case err := <-watch.Errors: // events may be lost; the files are checked again
			s.o.Log.Debug("changes of USER.md and MEMORY.md may be lost", "err", err)
		case <-time.After(pause):
		}
	}
}

// stampFiles returns a text that changes when a file changes. It watches the files again, because an
// editor may replace a file.
func (s *Syncer) stampFiles(watch *fsnotify.Watcher) string {
	out := "files"
	for _, t := range s.o.Targets {
		for _, path := range t.filePaths() {
			fi, err := os.Lstat(path)
			if err != nil {
				out += "|"
				continue
			}
			out += fmt.Sprintf("|%d %d", fi.Size(), fi.ModTime().UnixNano())
			if watch.Events != nil {
				_ = watch.Add(path) // if that fails, the files are checked regularly
			}
		}
	}
	return out
}

func (t Target) filePaths() []string {
	if t.User == "" {
		return []string{t.Memory}
	}
	return []string{t.User, t.Memory}
}

// fileKey returns the name of a file in the table, which stays the same if the home is moved.
func (s *Syncer) fileKey(t Target, path string) string {
	key := t.Name + "/" + filepath.Base(path)
	if t.Instance != "" {
		key = t.Instance + "//" + key
	}
	return key
}

// Sync synchronizes all files now.
func (s *Syncer) Sync(ctx context.Context) error {
	if s.o.Hold != nil {
		if h, err := s.o.Hold.Status(ctx); err != nil || h.Active {
			return err
		}
	}
	var errs []error
	for _, t := range s.o.Targets {
		errs = append(errs, s.syncTarget(ctx, t))
	}
	return errors.Join(errs...)
}

// maxRounds limits how often a target is synchronized again because its files have changed or contain
// many new lines.
const maxRounds = 50

func (s *Syncer) syncTarget(ctx context.Context, t Target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range maxRounds {
		again, err := s.syncOnce(ctx, t)
		if err != nil || !again {
			return err
		}
	}
	return fmt.Errorf("the files of the agent %q keep changing", t.Name)
}

// syncOnce reads the files, commits what follows from them, and writes them. again reports whether
// something is left to do.
func (s *Syncer) syncOnce(ctx context.Context, t Target) (again bool, err error) {
	var files []*syncedFile
	for _, path := range t.filePaths() {
		f, err := s.openFile(ctx, t, path)
		if err != nil {
			return false, err
		}
		files = append(files, f)
	}
	var c *comparison
	err = s.o.Store.Write(ctx, func(tx *store.Tx) error {
		c = &comparison{s: s, tx: tx, t: t, files: files, now: time.Now().In(s.o.Zone())}
		return c.compareFiles()
	})
	if err != nil {
		return false, fmt.Errorf("memorysync: compare files: %w", err)
	}
	for _, f := range files {
		moved, err := s.writeFile(ctx, f)
		if err != nil {
			return false, err
		}
		again = again || moved
	}
	return again || c.more, nil
}

// syncedFile is a file during one synchronization.
type syncedFile struct {
	path, key string
	aboutUser bool
	edited    bool // the user's edit changed facts
	broken    bool // the file is not readable or is a link, and stays as it is
	text      string
	form      *memoryfile.File
	edit      memoryfile.Edit
	rows      []lineRow    // of the table
	facts     []string     // ids of the facts of form.Items; "" means none
	taken     map[int]bool // rows that belong to a line
	// rowGaps and itemGaps are the places of the rows and of the lines; see gapsOf.
	rowGaps, itemGaps []int
	appended          []string // ids of the facts of edit.Append
}

// openFile reads a file. A file that cannot be used is reported once and otherwise left alone.
func (s *Syncer) openFile(ctx context.Context, t Target, path string) (*syncedFile, error) {
	f := &syncedFile{path: path, key: s.fileKey(t, path), aboutUser: path == t.User, taken: map[int]bool{}}
	f.edit = memoryfile.Edit{Remove: map[int]bool{}, Replace: map[int]memoryfile.Entry{}}
	problem := ""
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		problem = err.Error()
	case fi.Mode()&fs.ModeSymlink != 0: // tools may be able to write to its target
		problem = path + " is a link; replace it by a file"
	case !fi.Mode().IsRegular():
		problem = path + " is not a file; move it elsewhere"
	default:
		if f.text, err = memoryfile.Read(path); err != nil {
			problem = err.Error()
		}
	}
	f.form, f.broken = memoryfile.Parse(f.text), problem != ""
	f.facts = make([]string, len(f.form.Items))
	if s.reported[path] == problem {
		return f, nil
	}
	s.reported[path] = problem
	if problem == "" {
		return f, nil
	}
	s.o.Log.Warn("file is not kept in step with the memory", "file", filepath.Base(path), "err", problem)
	return f, s.o.Notify(ctx, fmt.Sprintf("memorysync:%s:%d", f.key, time.Now().Unix()/3600), "I do not keep "+filepath.Base(path)+" in step with my memory, and no fact was changed: "+problem+".")
}

// writeFile writes the edited file, unless the user changed it since it was read. moved reports that
// it must be read again.
func (s *Syncer) writeFile(ctx context.Context, f *syncedFile) (moved bool, err error) {
	if f.broken || f.edit.Empty() {
		return false, nil
	}
	was, err := os.Open(f.path)
	if err == nil {
		defer was.Close()
	}
	now, err := memoryfile.Read(f.path)
	if err != nil || now != f.text {
		return true, nil //nolint:nilerr // the next round reports the error
	}
	if runtime.GOOS == "windows" { // an open file cannot be replaced there
		_ = was.Close()
	}
	failpoint.Hit("memorysync.write.before")
	if err := system.WriteFile(f.path, []byte(f.form.Apply(f.edit))); err != nil {
		return false, fmt.Errorf("memorysync: %w", err)
	}
	// An editor may have written into the replaced file since it was read.
	if late, err := io.ReadAll(io.LimitReader(was, memoryfile.MaxSize)); err == nil && string(late) != f.text {
		return true, system.WriteFile(f.path, late)
	}
	failpoint.Hit("memorysync.write.after")
	return false, s.o.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM memory_lines WHERE file = ? AND state = ?`, f.key, removing); err != nil {
			return fmt.Errorf("memorysync: store lines: %w", err)
		}
		if _, err := tx.Exec(`UPDATE memory_lines SET state = ? WHERE file = ? AND state = ?`, agreed, f.key, adding); err != nil {
			return fmt.Errorf("memorysync: store lines: %w", err)
		}
		return nil
	})
}

// Eraser returns the eraser of the files. It removes the lines of erased facts and redacts the rest.
func (s *Syncer) Eraser() erase.Eraser {
	return erase.Owned{Besides: []string{"memory_lines"}, Files: func(ctx context.Context, e *erase.Erasure, sc *erase.Scrubber) (n erase.Erased, err error) {
		for _, t := range s.o.Targets {
			for _, path := range t.filePaths() {
				m, err := s.eraseFile(ctx, t, path, e, sc)
				if err != nil {
					return n, err
				}
				n = n.Add(m)
			}
		}
		s.Wake()
		return n, nil
	}}
}

func (s *Syncer) eraseFile(ctx context.Context, t Target, path string, e *erase.Erasure, sc *erase.Scrubber) (n erase.Erased, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := memoryfile.Read(path)
	if err != nil { // the file is redacted as it is
		return erase.ScrubFile(path, sc, system.WriteFile)
	}
	rows, err := readLines(s.o.Store.Reader(ctx), s.fileKey(t, path))
	if err != nil {
		return n, err
	}
	gone := map[string]bool{}
	for _, r := range rows {
		for _, id := range e.Facts {
			gone[r.digest] = gone[r.digest] || r.fact == id
		}
	}
	form := memoryfile.Parse(text)
	edit := memoryfile.Edit{Remove: map[int]bool{}}
	for _, it := range form.Items {
		if gone[digestEntry(it.Entry)] {
			edit.Remove[it.Line] = true
		}
	}
	if !edit.Empty() {
		if err := system.WriteFile(path, []byte(form.Apply(edit))); err != nil {
			return n, fmt.Errorf("memorysync: %w", err)
		}
		n.Scrubbed++
	}
	m, err := erase.ScrubFile(path, sc, system.WriteFile)
	return n.Add(m), err
}
