// Package file implements watchers that detect new, changed and removed files in a folder, or
// changes of one file. It reads only names, sizes and times; it never opens a file.
//
// All watchers of a driver share one fsnotify instance (hub). A system notification only means that
// a path may have changed. The watcher checks the path after a quiet period and compares it with
// the table file_seen, which contains every file as last reported. Thus an editor that writes a
// temporary file and renames it causes one change, and a download fires when it is complete. At the
// next start, the watcher detects the changes made while Hob was not running. Each change fires
// exactly once: its signal is committed together with the row that records it.
//
// The watcher skips the following files and folders: unfinished downloads, editors' swap and backup
// files and hidden files, unless the pattern names them; hidden folders below the watched folder;
// Hob's own folder; and targets of links to folders. If the system provides no notifications (its
// limit of watched folders is reached, or a folder cannot be watched), the watcher scans the folder
// every 30 s instead and notifies the user. It also scans network disks every 30 s. A full scan
// runs every 15 minutes.
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

	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "file"

// tables: file_watches has one row per watcher: the time from which files count as new (ns since
// 1970), whether the baseline is complete, and the number of committed batches. file_seen contains
// the files as last reported, identified by their path below the watched folder. Names do not have
// to be valid UTF-8.
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

// Driver creates file watchers. They share the driver's hub.
type Driver struct {
	hub     *hub
	mapPath func(path string) string // see WithoutSystem; if nil, paths are not replaced
}

// New returns the driver.
func New() *Driver { return &Driver{hub: newHub()} }

// WithoutSystem implements watchers.NotifiedDriver.
func (*Driver) WithoutSystem(mapPath func(path string) string) (watchers.Driver, func(path string)) {
	d := New()
	d.hub.told, d.mapPath = true, mapPath
	return d, func(path string) { d.hub.handleEvent(fsnotify.Event{Name: path, Op: fsnotify.Write}) }
}

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Folder, Source: watchers.PathSource, Argument: "path", Example: "~/Downloads --pattern '*.pdf'", Plural: "files",
		Options: "path, pattern?, events? (created, modified, removed), recursive?", Keywords: "folder file",
		Title: "Files", Form: []setting.Setting{
			{Key: "path", Kind: setting.Text, Title: "File or folder", Help: "~/Downloads"},
			{Key: "pattern", Kind: setting.Text, Optional: true, Title: "Names", Help: "A pattern, such as *.pdf."},
			{Key: "events", Kind: setting.Text, List: true, Optional: true, Title: "Events", Help: "created (default), modified, removed"},
			{Key: "recursive", Kind: setting.YesNo, Optional: true, Title: "Include subfolders"},
		},
		Flags: []setting.Setting{
			{Key: "pattern", Kind: setting.Text, Optional: true, Title: `pattern of the names: "*.pdf"`},
			{Key: "recursive", Kind: setting.YesNo, Optional: true, Title: "include subfolders"},
			{Key: "events", Kind: setting.Text, List: true, Optional: true, Title: "events: created, modified, removed (default: created)"},
		},
	}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "watchers/file", Steps: []string{tables}}}
}

// New implements watchers.Driver.
func (d *Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := d.parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	home := filepath.Dir(deps.Store.Path())
	if err := rejectPath(c.root, home); err != nil {
		return nil, err
	}
	if err := deps.AllowedRead(c.root); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	return &watch{id: spec.ID, cfg: c, deps: deps, hub: d.hub, home: home}, nil
}

// Begin implements watchers.StatefulDriver.
func (d *Driver) Begin(tx *store.Tx, spec watchers.Spec) error {
	if err := d.Forget(tx, spec.ID); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT INTO file_watches VALUES (?, ?, 0, 0)", spec.ID, time.Now().Add(-clockLag()).UnixNano())
	if err != nil {
		return fmt.Errorf("file: start watcher: %w", err)
	}
	return nil
}

// Forget implements watchers.StatefulDriver.
func (*Driver) Forget(tx *store.Tx, watcher string) error {
	for _, table := range []string{"file_watches", "file_seen"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE watcher = ?", watcher); err != nil {
			return fmt.Errorf("file: delete progress: %w", err)
		}
	}
	return nil
}

// DescribeConfig implements watchers.Driver. An example of its result is "new PDF files in
// ~/Downloads".
func (d *Driver) DescribeConfig(raw json.RawMessage) string {
	c, err := d.parseConfig(raw)
	if err != nil {
		return "files in an unreadable place"
	}
	fi, err := os.Stat(c.root)
	missing := ""
	if os.IsNotExist(err) {
		missing = " (not there yet)"
	}
	place := tildePath(c.root)
	if err == nil && !fi.IsDir() {
		return "changes to " + place
	}
	below := ""
	if c.recursive {
		below = " and the folders below it"
	}
	return fmt.Sprintf("%s %s in %s%s%s", c.eventWords(), c.describeFiles(), place, below, missing)
}

func (c settings) eventWords() string {
	words := map[string]string{created: "new", modified: "changed", removed: "removed"}
	var out []string
	for _, e := range c.events {
		out = append(out, words[e])
	}
	return joinWords(out)
}

// describeFiles returns "PDF files" for "*.pdf". For other patterns it returns the patterns
// themselves.
func (c settings) describeFiles() string {
	if len(c.patterns) == 0 {
		return "files"
	}
	var kinds []string
	for _, p := range c.patterns {
		if slices.Contains(c.patterns, "*"+p) {
			continue // ".pdf" was added together with "*.pdf"
		}
		ext, ok := strings.CutPrefix(p, "*.")
		if !ok || ext == "" || strings.ContainsAny(ext, `*?[\.`) {
			return "files named " + strings.Join(c.patterns, " or ")
		}
		kinds = append(kinds, strings.ToUpper(ext))
	}
	return joinWords(kinds) + " files"
}

// joinWords formats a list: "a, b or c".
func joinWords(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
