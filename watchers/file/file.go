// Package file is the kind of watcher that notices new, changed and removed
// files in a folder, or one file. It looks at names, sizes and times only; it
// never opens a file.
//
// All its watchers share one fsnotify instance (hub). What the system reports
// is only a hint that a path may have changed: a path is looked at once it has
// been quiet for a while, and compared with the table file_seen, which holds
// every file as it was last told. So editors that write a temporary file and
// rename it over the old one make one change, a download fires when it is
// finished, and what happened while Hob was not running is found at the next
// start, exactly once: a signal and the row that remembers it are committed
// together.
//
// Left out are unfinished downloads, editors' swap and backup files and hidden
// files, unless the pattern names them; hidden folders below the watched one;
// Hob's own folder; and whatever a link to a folder points at. Where the system
// gives no notice (its limit of watched folders is reached, or a folder cannot
// be watched), the folder is looked at every half minute instead, and the owner
// is told; a disk of another machine is treated like that, too. Everything is
// looked at each quarter of an hour.
package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/knowledge/store"
	"hob/watchers"
)

// Kind is the kind's name.
const Kind = "file"

// tables: file_watches has one row for each watcher: since when things count as
// new (ns since 1970), whether the files that were there before are recorded,
// and how many batches were committed. file_seen has the files as last told, by
// their path below the watched folder; names need not be UTF-8.
const tables = `CREATE TABLE file_watches (
	watcher TEXT PRIMARY KEY,
	since INTEGER NOT NULL,
	baseline INTEGER NOT NULL,
	seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE file_seen (
	watcher TEXT NOT NULL,
	path BLOB NOT NULL,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	PRIMARY KEY (watcher, path)
) WITHOUT ROWID;`

// Driver makes file watchers, which share its hub.
type Driver struct{ hub *hub }

// New returns the driver.
func New() *Driver { return &Driver{hub: newHub()} }

// Told returns a driver that hears of changes through Notice alone, and not from
// the system: for a time that is played.
func Told() *Driver {
	d := New()
	d.hub.told = true
	return d
}

// Notice says that a path may have changed, as the system would.
func (d *Driver) Notice(path string) {
	d.hub.event(fsnotify.Event{Name: path, Op: fsnotify.Write})
}

// Kind implements watchers.Driver.
func (*Driver) Kind() string { return Kind }

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.Set {
	return []store.Set{{Owner: "watchers/file", Steps: []string{tables}}}
}

// New implements watchers.Driver.
func (d *Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parse(spec.Config)
	if err != nil {
		return nil, err
	}
	home := filepath.Dir(deps.Store.Path())
	if err := refuse(c.root, home); err != nil {
		return nil, err
	}
	if err := deps.AllowedRead(c.root); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	return &watch{id: spec.ID, cfg: c, deps: deps, hub: d.hub, home: home}, nil
}

// Begin implements watchers.Keeper.
func (d *Driver) Begin(tx *store.Tx, spec watchers.Spec) error {
	if err := d.Forget(tx, spec.ID); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT INTO file_watches VALUES (?, ?, 0, 0)", spec.ID, time.Now().Add(-clockLag()).UnixNano())
	if err != nil {
		return fmt.Errorf("file: begin: %w", err)
	}
	return nil
}

// Forget implements watchers.Keeper.
func (*Driver) Forget(tx *store.Tx, watcher string) error {
	for _, table := range []string{"file_watches", "file_seen"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE watcher = ?", watcher); err != nil {
			return fmt.Errorf("file: forget: %w", err)
		}
	}
	return nil
}

// Describe implements watchers.Driver: "new PDF files in ~/Downloads".
func (*Driver) Describe(raw json.RawMessage) string {
	c, err := parse(raw)
	if err != nil {
		return "files in an unreadable place"
	}
	fi, err := os.Stat(c.root)
	missing := ""
	if os.IsNotExist(err) {
		missing = " (not there yet)"
	}
	place := tilde(c.root)
	if err == nil && !fi.IsDir() {
		return "changes to " + place
	}
	below := ""
	if c.recursive {
		below = " and the folders below it"
	}
	return fmt.Sprintf("%s %s in %s%s%s", c.eventWords(), c.fileWords(), place, below, missing)
}

func (c settings) eventWords() string {
	words := map[string]string{created: "new", modified: "changed", removed: "removed"}
	var out []string
	for _, e := range c.events {
		out = append(out, words[e])
	}
	return join(out)
}

// fileWords says "PDF files" for "*.pdf" and names other patterns.
func (c settings) fileWords() string {
	if len(c.patterns) == 0 {
		return "files"
	}
	var kinds []string
	for _, p := range c.patterns {
		if slices.Contains(c.patterns, "*"+p) {
			continue // ".pdf" beside "*.pdf"
		}
		ext, ok := strings.CutPrefix(p, "*.")
		if !ok || ext == "" || strings.ContainsAny(ext, `*?[\.`) {
			return "files named " + strings.Join(c.patterns, " or ")
		}
		kinds = append(kinds, strings.ToUpper(ext))
	}
	return join(kinds) + " files"
}

// join lists words: "a, b or c".
func join(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
