package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Stats say how the index is.
type Stats struct {
	Rows      int            `json:"rows"`
	Seq       int64          `json:"seq"`    // the last change it holds
	Behind    int64          `json:"behind"` // changes it does not hold yet; searches see the newest of them all the same
	Segments  int            `json:"segments"`
	Bytes     int64          `json:"bytes"` // on the disk
	Languages map[string]int `json:"languages,omitempty"`
	Folder    string         `json:"folder,omitempty"`
	SetAside  string         `json:"set_aside,omitempty"` // where a damaged one was put
	// Trouble says why there is no index to ask; rows are looked through then.
	Trouble string `json:"trouble,omitempty"`
}

// Stats returns how the index is. One that cannot be opened is no error: it is
// in Trouble.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	_, oerr := x.open() //nolint:contextcheck // a search, which opens it as well, has none
	s := Stats{Folder: x.dir, Languages: map[string]int{}}
	last, err := x.base.LastChange(x.st.Reader(ctx))
	if err != nil {
		return s, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.SetAside = x.aside
	s.Behind = last
	if x.cur == nil {
		s.Trouble = errors.Join(oerr, errNotYet).Error()
		return s, nil
	}
	r, err := x.cur.ix.Reader()
	if err != nil {
		return s, err
	}
	defer func() { _ = r.Close() }()
	if s.Seq, err = internal(r, keySeq); err != nil {
		return s, err
	}
	fig, err := x.figures(r, s.Seq) //nolint:contextcheck // likewise
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
	s.Segments = len(segments(r))
	s.Bytes = folderSize(x.cur.path)
	return s, nil
}

func folderSize(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil { // in memory
		return 0
	}
	for _, e := range entries {
		if fi, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			n += fi.Size()
		}
	}
	return n
}
