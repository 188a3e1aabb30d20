package app

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"hob/autonomy/api"
	"hob/autonomy/service"
	"hob/knowledge"
)

// MemoryStats implements api.Memory.
func (b *backend) MemoryStats(ctx context.Context) (api.MemoryStats, error) {
	q := b.d.store.Reader(ctx)
	counts, err := b.d.base.CountRows(q)
	if err != nil {
		return api.MemoryStats{}, service.Classify(err)
	}
	out := api.MemoryStats{Counts: append([]api.RowCount{}, service.ConvertEach(counts, apiRowCount)...), OnDisk: map[string]int64{}}
	for _, c := range counts {
		out.Rows += c.Rows
	}
	if out.Behind, err = b.d.library.Behind(ctx); err != nil {
		return api.MemoryStats{}, service.Classify(err)
	}
	if out.Derived, err = b.d.derivedStatus(ctx); err != nil {
		return api.MemoryStats{}, service.Classify(err)
	}
	if out.Entities, out.Relations, err = b.d.countGraph(q); err != nil {
		return api.MemoryStats{}, service.Classify(err)
	}
	if err := q.QueryRow(`SELECT count(DISTINCT grp) FROM docs WHERE kind = ? AND grp <> ''`, knowledge.KindChunk).Scan(&out.Documents); err != nil {
		return out, err
	}
	b.d.measureSizes(&out)
	return out, nil
}

// measureSizes measures the home's readable files.
func (d *App) measureSizes(out *api.MemoryStats) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if fi, err := os.Stat(d.opt.Paths.Database() + suffix); err == nil {
			out.Database += fi.Size()
		}
	}
	root := d.opt.Paths.Data
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // unreadable files are not counted
		if err != nil || e.IsDir() {
			return nil
		}
		fi, err := e.Info()
		rel, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil {
			return nil
		}
		out.OnDisk[firstPathElement(rel)] += fi.Size()
		return nil
	})
}

// firstPathElement is the first part of a relative path.
func firstPathElement(rel string) string {
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(rel) {
		rel = dir
	}
	return rel
}

// derivedStatus returns the state of the derived indexes.
func (d *App) derivedStatus(ctx context.Context) ([]api.DerivedStats, error) {
	out := []api.DerivedStats{}
	if d.index != nil {
		s, err := d.index.Stats(ctx)
		if err != nil {
			return nil, err
		}
		x := api.DerivedStats{Name: "index", State: "ready", Cause: s.Trouble, Rows: s.Rows, Behind: int(s.Behind), Bytes: s.Bytes, Languages: s.Languages}
		switch {
		case s.Trouble != "":
			x.State = "off"
		case s.Building:
			x.State = "building"
		case s.Behind > 0:
			x.State = "behind"
		}
		out = append(out, x)
	}
	if d.vectors == nil {
		return append(out, api.DerivedStats{Name: "vectors", State: "off"}), nil
	}
	s, err := d.vectors.Stats(ctx)
	if err != nil {
		return nil, err
	}
	v := api.DerivedStats{Name: "vectors", State: "ready", Cause: s.Trouble, Rows: s.Held, Behind: s.Behind, Bytes: s.Bytes}
	switch {
	case s.Trouble != "":
		v.State = "held"
	case s.Anew:
		v.State = "building"
	case s.Behind > 0:
		v.State = "behind"
	}
	return append(out, v), nil
}
