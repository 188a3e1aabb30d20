package files

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Migrations returns the tables of this package. They record files that contain untrusted text even
// though they are in a trusted folder: Hob wrote them while the conversation contained untrusted
// text, moved them there, or ran a command that wrote or moved them. Such a file is untrusted
// because of its path. Copies and renamed files are untrusted because of their digest. If the
// column name is set, only the name of the file is untrusted.
//
// outside_trees lists folders whose complete content is untrusted: folders that were moved into a
// trusted folder and, while a command runs, the trusted folders with the id of the call.
// vouched_contents are contents for which the owner vouched.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "files", Steps: []string{`
CREATE TABLE outside_paths (path TEXT PRIMARY KEY, list TEXT NOT NULL, name INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outside_contents (digest TEXT PRIMARY KEY, list TEXT NOT NULL) WITHOUT ROWID;
`, `
CREATE TABLE outside_trees (path TEXT NOT NULL, id TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY (path, id)) WITHOUT ROWID;
CREATE TABLE vouched_contents (digest TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`}}}
}

// provenanceMarks reads and writes the tables of this package. Without a store, no marks are
// recorded, and no folder may be trusted.
type provenanceMarks struct{ st *store.Store }

// markContent durably records that a path will contain untrusted content. Call it before writing
// the file.
func (m provenanceMarks) markContent(ctx context.Context, path string, content []byte, list []provenance.Origin) error {
	return m.noteAll(ctx, []fileSum{{path: path, sum: contentDigest(content)}}, list)
}

// noteAll records untrusted content for several files, as markContent does. A digest may be unknown
// ("").
func (m provenanceMarks) noteAll(ctx context.Context, files []fileSum, list []provenance.Origin) error {
	return m.writeTx(ctx, func(tx *store.Tx) error {
		raw := encodeOrigins(list)
		for _, f := range files {
			if _, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) VALUES (?,?,0) ON CONFLICT (path) DO UPDATE SET list = excluded.list, name = 0`, markKey(f.path), raw); err != nil {
				return err
			}
		}
		return noteSumsTx(tx, files, raw)
	})
}

// noteSumsTx records only the digests of files, so that copies of the files are untrusted.
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

// markName records that a name was chosen while the conversation contained untrusted text.
func (m provenanceMarks) markName(ctx context.Context, path string, list []provenance.Origin) error {
	return m.writeTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) VALUES (?,?,1) ON CONFLICT (path) DO NOTHING`, markKey(path), encodeOrigins(list))
		return err
	})
}

// markRestored records the content of a path after a restore. The path is untrusted if the content
// is known to be untrusted.
func (m provenanceMarks) markRestored(ctx context.Context, path string, content []byte) error {
	_, marked, err := m.treeOrigins(ctx, path)
	_, outside, cerr := m.copyOf(ctx, content)
	if err == nil && cerr == nil && !marked && !outside {
		return nil
	}
	return m.writeTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ?`, markKey(path)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO outside_paths (path, list, name) SELECT ?, list, 0 FROM outside_contents WHERE digest = ?`, markKey(path), contentDigest(content))
		return err
	})
}

// clearReplaced records that a path now contains trusted content. The former content remains marked
// by its digest.
func (m provenanceMarks) clearReplaced(ctx context.Context, path string, former []byte) error {
	list, marked, err := m.contentOrigins(ctx, path)
	if err != nil || !marked {
		return err
	}
	return m.writeTx(ctx, func(tx *store.Tx) error {
		if former != nil {
			if _, err := tx.Exec(`INSERT INTO outside_contents (digest, list) VALUES (?,?) ON CONFLICT (digest) DO NOTHING`, contentDigest(former), encodeOrigins(list)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ?`, markKey(path))
		return err
	})
}

// moveMarks moves the marks of a path and of all paths below it. It first copies the marks, and
// done removes the originals, so that no mark is missing in between.
func (m provenanceMarks) moveMarks(ctx context.Context, from, to string) (done func() error, err error) {
	if _, any, err := m.treeOrigins(ctx, from); err != nil || !any {
		return func() error { return nil }, err
	}
	from, to = markKey(from), markKey(to)
	low, high := descendantRange(from)
	err = m.writeTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT OR REPLACE INTO outside_paths (path, list, name)
			SELECT ? || substr(path, ?), list, name FROM outside_paths WHERE path = ? OR path >= ? AND path < ?`, to, len([]rune(from))+1, from, low, high)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT OR REPLACE INTO outside_trees (path, id, list)
			SELECT ? || substr(path, ?), '', list FROM outside_trees WHERE path = ? OR path >= ? AND path < ?`, to, len([]rune(from))+1, from, low, high)
		return err
	})
	return func() error { return m.dropTree(ctx, from) }, err
}

// dropTree removes the marks of a path and of all paths below it, except the marks of running
// commands.
func (m provenanceMarks) dropTree(ctx context.Context, path string) error {
	path = markKey(path)
	low, high := descendantRange(path)
	return m.writeTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ? OR path >= ? AND path < ?`, path, low, high); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM outside_trees WHERE id = '' AND (path = ? OR path >= ? AND path < ?)`, path, low, high)
		return err
	})
}

// dropName removes the mark of a name that no longer exists.
func (m provenanceMarks) dropName(ctx context.Context, path string) error {
	return m.writeTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM outside_paths WHERE path = ? AND name = 1`, markKey(path))
		return err
	})
}

// contentOrigins returns the origins of the content at a path.
func (m provenanceMarks) contentOrigins(ctx context.Context, path string) ([]provenance.Origin, bool, error) {
	tree, args := enclosingTree(path)
	return m.queryOrigins(ctx, `SELECT list FROM outside_paths WHERE path = ?1 AND name = 0 UNION ALL `+tree+` LIMIT 1`, args...)
}

// copyOf returns the origins that are recorded for content under any path.
func (m provenanceMarks) copyOf(ctx context.Context, content []byte) ([]provenance.Origin, bool, error) {
	return m.copyOfSum(ctx, contentDigest(content))
}

func (m provenanceMarks) copyOfSum(ctx context.Context, sum string) ([]provenance.Origin, bool, error) {
	return m.queryOrigins(ctx, `SELECT list FROM outside_contents WHERE digest = ? AND digest NOT IN (SELECT digest FROM vouched_contents)`, sum)
}

// treeOrigins returns the origins of the contents and names at or below a path.
func (m provenanceMarks) treeOrigins(ctx context.Context, path string) ([]provenance.Origin, bool, error) {
	low, high := descendantRange(markKey(path))
	list, found, err := m.queryOrigins(ctx, `SELECT list FROM outside_paths WHERE path = ?1 OR path >= ?2 AND path < ?3
		UNION ALL SELECT list FROM outside_trees WHERE path >= ?2 AND path < ?3 LIMIT 1`, markKey(path), low, high)
	if found || err != nil {
		return list, found, err
	}
	tree, args := enclosingTree(path)
	return m.queryOrigins(ctx, tree+` LIMIT 1`, args...)
}

// descendantRange returns the lower and upper bound of the paths below a folder.
func descendantRange(path string) (low, high string) {
	sep := string(filepath.Separator)
	path = strings.TrimSuffix(path, sep)
	return path + sep, path + string(filepath.Separator+1)
}

func (m provenanceMarks) queryOrigins(ctx context.Context, query string, args ...any) (list []provenance.Origin, found bool, err error) {
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

func (m provenanceMarks) writeTx(ctx context.Context, do func(tx *store.Tx) error) error {
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
	if err != nil { // strings can always be encoded
		panic(err)
	}
	return string(b)
}

// contentProvenance returns the provenance and the origins of a file's content with the digest sum.
// It fails closed: after an error the content is untrusted.
func (f *Files) contentProvenance(ctx context.Context, s *openPath, sum string) (provenance.Source, []provenance.Origin) {
	list, marked, err := f.marks.contentOrigins(ctx, s.abs)
	if err == nil && !marked {
		list, marked, err = f.marks.copyOfSum(ctx, sum)
	}
	if err == nil && marked && f.provenanceOf(s) == provenance.Owner {
		var vouched bool
		vouched, err = f.marks.isVouched(ctx, sum)
		marked = !vouched
	}
	if f.provenanceOf(s) == provenance.Owner && !marked && err == nil {
		return provenance.Owner, nil
	}
	return provenance.Outside, provenance.Join([]provenance.Origin{{Kind: "file", Label: f.displayPath(s.abs)}}, list)
}

// folderProvenance returns the provenance of the names and contents in a folder.
func (f *Files) folderProvenance(ctx context.Context, s *openPath) (provenance.Source, []provenance.Origin) {
	list, marked, err := f.marks.treeOrigins(ctx, s.abs)
	if f.provenanceOf(s) == provenance.Owner && !marked && err == nil {
		return provenance.Owner, nil
	}
	return provenance.Outside, provenance.Join([]provenance.Origin{{Kind: "file", Label: f.displayPath(s.abs)}}, list)
}

// markWrite records a write if the conversation contains untrusted text or if untrusted text
// remains in the file.
func (f *Files) markWrite(ctx context.Context, c tools.Call, s *openPath, in writeIn, content []byte) error {
	list := c.Origins
	if !provenance.Worst(c.Provenance).Tainted() {
		known, marked, err := f.marks.contentOrigins(ctx, s.abs)
		if err != nil || !marked || !in.Append { // clearOverwritten handles a replaced file
			return err
		}
		list = known // the earlier content remains in the file
	}
	return f.marks.markContent(ctx, s.abs, content, list)
}

// clearOverwritten removes the mark of a file whose complete content was replaced by trusted
// content.
func (f *Files) clearOverwritten(ctx context.Context, c tools.Call, s *openPath, in writeIn, u writeUndo) error {
	if in.Append || provenance.Worst(c.Provenance).Tainted() {
		return nil
	}
	former, err := f.undo.getContent(u.Before)
	if err != nil {
		former = nil // no copy was saved, so the former content cannot be restored
	}
	return f.marks.clearReplaced(ctx, s.abs, former)
}
