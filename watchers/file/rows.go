package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// stamp identifies one version of a file.
type stamp struct{ size, mtime int64 }

func stampOf(fi fs.FileInfo) stamp { return stamp{fi.Size(), fi.ModTime().UnixNano()} }

// progress is one row of the table file_watches.
type progress struct {
	since    time.Time
	baseline bool
	seq      int64
}

func (w *watch) readProgress(ctx context.Context) (progress, error) {
	var since int64
	p := progress{since: time.Now()}
	err := w.deps.Store.Reader(ctx).QueryRow("SELECT since, baseline, seq FROM file_watches WHERE watcher = ?", w.id).
		Scan(&since, &p.baseline, &p.seq)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("file: read progress: %w", err)
	}
	p.since = time.Unix(0, since)
	return p, nil
}

// saveProgress stores the progress.
func (p progress) saveProgress(tx *store.Tx, watcher string) error {
	_, err := tx.Exec(`INSERT INTO file_watches VALUES (?, ?, ?, ?)
		ON CONFLICT (watcher) DO UPDATE SET baseline = excluded.baseline, seq = excluded.seq`,
		watcher, p.since.UnixNano(), p.baseline, p.seq)
	if err != nil {
		return fmt.Errorf("file: save progress: %w", err)
	}
	return nil
}

// knownFiles reads the rows of the given paths, or all rows if rels is empty.
func (w *watch) knownFiles(ctx context.Context, rels []string) (map[string]stamp, error) {
	q, args := "SELECT path, size, mtime FROM file_seen WHERE watcher = ?", []any{w.id}
	if len(rels) > 0 {
		q += " AND path IN (?" + strings.Repeat(", ?", len(rels)-1) + ")"
		for _, rel := range rels {
			args = append(args, []byte(rowKey(rel)))
		}
	}
	rows, err := w.deps.Store.Reader(ctx).Query(q, args...)
	if err != nil {
		return nil, fmt.Errorf("file: read known files: %w", err)
	}
	defer rows.Close()
	out := map[string]stamp{}
	var path sql.RawBytes
	for rows.Next() {
		var s stamp
		if err := rows.Scan(&path, &s.size, &s.mtime); err != nil {
			return nil, fmt.Errorf("file: read known files: %w", err)
		}
		out[string(path)] = s
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("file: read known files: %w", err)
	}
	return out, nil
}

// putRow stores the last reported state of one file.
func putRow(tx *store.Tx, watcher, rel string, s stamp) error {
	_, err := tx.Exec("INSERT OR REPLACE INTO file_seen (watcher, path, size, mtime) VALUES (?, ?, ?, ?)", watcher, []byte(rowKey(rel)), s.size, s.mtime)
	if err != nil {
		return fmt.Errorf("file: save %q: %w", rel, err)
	}
	return nil
}

func deleteRow(tx *store.Tx, watcher, rel string) error {
	if _, err := tx.Exec("DELETE FROM file_seen WHERE watcher = ? AND path = ?", watcher, []byte(rowKey(rel))); err != nil {
		return fmt.Errorf("file: delete row of %q: %w", rel, err)
	}
	return nil
}

// Eraser returns an eraser that deletes the rows of files whose path contains a phrase. The watcher
// reports these files again.
func (*Driver) Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "file_seen", Key: []string{"watcher", "path"}, Names: []string{"path"}}}, Besides: []string{"file_watches"}}
}
