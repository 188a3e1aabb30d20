package files

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/tools"
)

// Migrations returns the tables of this package: files that hold untrusted text although
// they are in a trusted folder, because Hob wrote them with untrusted text in the
// conversation, moved them there, or ran a command that did. Such a file is untrusted by
// its path; a copy or a renamed file is untrusted by its digest. With name, only the name
// of the file is untrusted.
//
// outside_trees are folders in which everything is untrusted: a folder that was moved as a
// whole, and, with the id of a call, the trusted folders while a command runs.
// vouched_contents are contents that the owner vouched for.
func Migrations() []store.Set {
	return []store.Set{{Owner: "files", Steps: []string{`
CREATE TABLE outside_paths (path TEXT PRIMARY KEY, list TEXT NOT NULL, name INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outside_contents (digest TEXT PRIMARY KEY, list TEXT NOT NULL) WITHOUT ROWID;
`, `
CREATE TABLE outside_trees (path TEXT NOT NULL, id TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY (path, id)) WITHOUT ROWID;
CREATE TABLE vouched_contents (digest TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`}}}
}

// marks reads and writes them. Without a store it has none: then no folder may be trusted.
type marks struct{ st *store.Store }

// note durably records, before the file is written, that a path gets untrusted content.
func (m marks) note(ctx context.Context, path string, content []byte, list []provenance.Origin) error {
	return m.noteAll(ctx, []fileSum{{path: path, sum: digest(content)}}, list)
}

// noteAll does the same as note for several files; a digest may be unknown ("").
func (m marks) noteAll(ctx context.Context, files []fileSum, list []provenance.Origin) error {
	return m.write(ctx, func(tx *store.Tx) error {
		raw := encodeOrigins(list)
		for _, f := range files {
			if _, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) VALUES (?,?,0) ON CONFLICT (path) DO UPDATE SET list = excluded.list, name = 0`, markKey(f.path), raw); err != nil {
				return err
			}
		}
		return noteSumsTx(tx, files, raw)
	})
}

// noteSumsTx records only the contents of files: their copies are untrusted.
func noteSumsTx(tx *store.Tx, files []fileSum, raw string) error {
	for _, f := range files {
		if f.sum == "" {
			continue
		}
		if _, err := tx.Exec(`INSERT INTO outside_contents (digest, list) VALUES (?,?) ON CONFLICT (digest) DO UPDATE SET list = excluded.list`, f.sum, raw); err != nil {
			return err
		}
	}
	return nil
}

// named records that a name was chosen with untrusted text in the conversation.
func (m marks) named(ctx context.Context, path string, list []provenance.Origin) error {
	return m.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) VALUES (?,?,1) ON CONFLICT (path) DO NOTHING`, markKey(path), encodeOrigins(list))
		return err
	})
}

// settle records the content of a path after a restore: it is untrusted if that content is
// known to be.
func (m marks) settle(ctx context.Context, path string, content []byte) error {
	_, marked, err := m.below(ctx, path)
	_, outside, cerr := m.copyOf(ctx, content)
	if err == nil && cerr == nil && !marked && !outside {
		return nil
	}
	return m.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ?`, markKey(path)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) SELECT ?, list, 0 FROM outside_contents WHERE digest = ?`, markKey(path), digest(content))
		return err
	})
}

// replaced records that a path now holds trusted content. The former content stays marked
// by its digest.
func (m marks) replaced(ctx context.Context, path string, former []byte) error {
	list, marked, err := m.at(ctx, path)
	if err != nil || !marked {
		return err
	}
	return m.write(ctx, func(tx *store.Tx) error {
		if former != nil {
			if _, err := tx.Exec(`INSERT INTO outside_contents (digest, list) VALUES (?,?) ON CONFLICT (digest) DO NOTHING`, digest(former), encodeOrigins(list)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ?`, markKey(path))
		return err
	})
}

// move moves the marks of a path and of everything below it. It copies them first and done
// drops the originals, so that no mark is missing in between.
func (m marks) move(ctx context.Context, from, to string) (done func() error, err error) {
	if _, any, err := m.below(ctx, from); err != nil || !any {
		return func() error { return nil }, err
	}
	from, to = markKey(from), markKey(to)
	low, high := under(from)
	err = m.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT OR REPLACE INTO outside_paths (path, list, name)
			SELECT ? || substr(path, ?), list, name FROM outside_paths WHERE path = ? OR path >= ? AND path < ?`, to, len([]rune(from))+1, from, low, high)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT OR REPLACE INTO outside_trees (path, id, list)
			SELECT ? || substr(path, ?), '', list FROM outside_trees WHERE path = ? OR path >= ? AND path < ?`, to, len([]rune(from))+1, from, low, high)
		return err
	})
	return func() error { return m.drop(ctx, from) }, err
}

// drop removes the marks of a path and of everything below it, except those of running
// commands.
func (m marks) drop(ctx context.Context, path string) error {
	path = markKey(path)
	low, high := under(path)
	return m.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ? OR path >= ? AND path < ?`, path, low, high); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM outside_trees WHERE id = '' AND (path = ? OR path >= ? AND path < ?)`, path, low, high)
		return err
	})
}

// unnamed drops the mark of a name that no longer exists.
func (m marks) unnamed(ctx context.Context, path string) error {
	return m.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ? AND name = 1`, markKey(path))
		return err
	})
}

// at returns the origins of the content of a path.
func (m marks) at(ctx context.Context, path string) ([]provenance.Origin, bool, error) {
	list, found, err := m.one(ctx, `SELECT list FROM outside_paths WHERE path = ? AND name = 0`, markKey(path))
	if found || err != nil {
		return list, found, err
	}
	return m.within(ctx, path)
}

// copyOf returns the origins of a content, independent of its path.
func (m marks) copyOf(ctx context.Context, content []byte) ([]provenance.Origin, bool, error) {
	return m.copyOfSum(ctx, digest(content))
}

func (m marks) copyOfSum(ctx context.Context, sum string) ([]provenance.Origin, bool, error) {
	return m.one(ctx, `SELECT list FROM outside_contents WHERE digest = ? AND digest NOT IN (SELECT digest FROM vouched_contents)`, sum)
}

// below returns the origins of everything at a path or below it, names included.
func (m marks) below(ctx context.Context, path string) ([]provenance.Origin, bool, error) {
	low, high := under(markKey(path))
	list, found, err := m.one(ctx, `SELECT list FROM outside_paths WHERE path = ?1 OR path >= ?2 AND path < ?3
		UNION ALL SELECT list FROM outside_trees WHERE path >= ?2 AND path < ?3 LIMIT 1`, markKey(path), low, high)
	if found || err != nil {
		return list, found, err
	}
	return m.within(ctx, path)
}

// under returns the bounds of the paths below a folder.
func under(path string) (low, high string) {
	sep := string(filepath.Separator)
	path = strings.TrimSuffix(path, sep)
	return path + sep, path + string(filepath.Separator+1)
}

func (m marks) one(ctx context.Context, query string, args ...any) (list []provenance.Origin, found bool, err error) {
	if m.st == nil {
		return nil, false, nil
	}
	var raw string
	err = m.st.Reader(ctx).QueryRow(query, args...).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(raw), &list)
	}
	if err != nil {
		return nil, true, fmt.Errorf("files: look up provenance: %w", err)
	}
	return list, true, nil
}

func (m marks) write(ctx context.Context, do func(tx *store.Tx) error) error {
	if m.st == nil {
		return nil
	}
	if err := m.st.Write(context.WithoutCancel(ctx), do); err != nil {
		return fmt.Errorf("files: record provenance: %w; nothing was changed", err)
	}
	return nil
}

func encodeOrigins(list []provenance.Origin) string {
	b, err := json.Marshal(provenance.Join(list))
	if err != nil { // plain strings always encode
		panic(err)
	}
	return string(b)
}

// origin returns the provenance and the origins of a file's content, which is named by its
// digest. It fails closed: on an error the content is untrusted.
func (f *Files) origin(ctx context.Context, s *spot, sum string) (provenance.Source, []provenance.Origin) {
	list, marked, err := f.marks.at(ctx, s.abs)
	if err == nil && !marked {
		list, marked, err = f.marks.copyOfSum(ctx, sum)
	}
	if err == nil && marked && f.source(s) == provenance.Owner {
		var vouched bool
		vouched, err = f.marks.vouched(ctx, sum)
		marked = !vouched
	}
	if f.source(s) == provenance.Owner && !marked && err == nil {
		return provenance.Owner, nil
	}
	return provenance.Outside, provenance.Join([]provenance.Origin{{Kind: "file", Label: f.show(s.abs)}}, list)
}

// origins returns the provenance of the names and texts in a folder.
func (f *Files) origins(ctx context.Context, s *spot) (provenance.Source, []provenance.Origin) {
	list, marked, err := f.marks.below(ctx, s.abs)
	if f.source(s) == provenance.Owner && !marked && err == nil {
		return provenance.Owner, nil
	}
	return provenance.Outside, provenance.Join([]provenance.Origin{{Kind: "file", Label: f.show(s.abs)}}, list)
}

// mark records a write if untrusted text is in the conversation or stays in the file.
func (f *Files) mark(ctx context.Context, c tools.Call, s *spot, in writeIn, content []byte) error {
	list := c.Origins
	if !provenance.Worst(c.Provenance).Tainted() {
		known, marked, err := f.marks.at(ctx, s.abs)
		if err != nil || !marked || !in.Append { // see overwritten
			return err
		}
		list = known // the earlier content stays in the file
	}
	return f.marks.note(ctx, s.abs, content, list)
}

// overwritten removes the mark of a file that was completely replaced with trusted content.
func (f *Files) overwritten(ctx context.Context, c tools.Call, s *spot, in writeIn, u writeUndo) error {
	if in.Append || provenance.Worst(c.Provenance).Tainted() {
		return nil
	}
	former, err := f.undo.get(u.Before)
	if err != nil {
		former = nil // no copy was saved, so it cannot be restored
	}
	return f.marks.replaced(ctx, s.abs, former)
}
