package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"hob/autonomy/api"
)

// Stats describes the state of the index.
type Stats struct {
	Rows      int            `json:"rows"`
	Seq       int64          `json:"seq"`    // Seq of the last indexed change
	Behind    int64          `json:"behind"` // pending changes; searches still see the newest of them
	Segments  int            `json:"segments"`
	Bytes     int64          `json:"bytes"` // size on disk
	Languages map[string]int `json:"languages,omitempty"`
	// Building is true while the index is not available yet. Until then searches scan the rows.
	Building bool `json:"building,omitempty"`
	// Trouble is the reason why no index is available. Searches then scan the rows.
	Trouble string `json:"trouble,omitempty"`
}

// Name returns the name of the index as a consumer of changes.
func (*Index) Name() string { return Name }

// DerivedStats returns the state for the API.
func (x *Index) DerivedStats(ctx context.Context) (api.DerivedStats, error) {
	s, err := x.Stats(ctx)
	if err != nil {
		return api.DerivedStats{}, err
	}
	out := api.DerivedStats{Name: Name, State: "ready", Cause: s.Trouble, Rows: s.Rows, Behind: int(s.Behind), Bytes: s.Bytes, Languages: s.Languages}
	switch {
	case s.Trouble != "":
		out.State = "off"
	case s.Building:
		out.State = "building"
	case s.Behind > 0:
		out.State = "behind"
	}
	return out, nil
}

// Stats returns the state of the index. Like a search, it creates a missing index. If the index
// cannot be opened, Trouble contains the reason.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	q := x.st.Reader(ctx)
	oerr := x.prepareSearch(q) //nolint:contextcheck // searches share the open index, so ctx must not cancel opening it
	s := Stats{Languages: map[string]int{}}
	last, err := x.base.LastChange(q)
	if err != nil {
		return s, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.Behind = last
	if x.cur == nil {
		if s.Building = oerr == nil || errors.Is(oerr, errNotYet); !s.Building {
			s.Trouble = oerr.Error()
		}
		return s, nil
	}
	r, err := x.cur.ix.Reader()
	if err != nil {
		return s, err
	}
	defer func() { _ = r.Close() }()
	if s.Seq, err = readInternal(r, keySeq); err != nil {
		return s, err
	}
	fig, err := x.loadSnapshotStats(r, s.Seq) //nolint:contextcheck // searches share the statistics, so ctx must not cancel loading them
	if err != nil {
		return s, err
	}
	for _, f := range fig.fields {
		s.Rows += f.rows
	}
	for _, l := range fig.languages {
		s.Languages[l.name] = l.rows
	}
	s.Behind = last - s.Seq
	s.Segments = len(snapshotSegments(r))
	s.Bytes = folderSize(x.cur.path)
	return s, nil
}

func folderSize(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil { // an index in memory has no folder
		return 0
	}
	for _, e := range entries {
		if fi, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			n += fi.Size()
		}
	}
	return n
}
