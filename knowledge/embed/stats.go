package embed

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"hob/autonomy/api"
	"hob/autonomy/llm"
)

// Stats describes the stored vectors.
type Stats struct {
	Model   string `json:"model"`
	Numbers int    `json:"numbers"` // length of each vector
	Held    int    `json:"held"`
	Refused int    `json:"refused"` // number of texts that the model rejects
	// Behind is the maximum number of pending changes or, during a scan of all docs, of pending
	// rows.
	Behind int `json:"behind"`
	// Anew is true during a scan of all docs.
	Anew  bool  `json:"anew"`
	Bytes int64 `json:"bytes"` // size of the file
	// FirstPass reports whether searches use a first pass at this size.
	FirstPass bool `json:"first_pass"`
	// Trouble is the current error of the embedder; "" if there is none.
	Trouble string `json:"trouble,omitempty"`
}

// Stats returns the number of vectors and the backlog.
func (v *Vectors) Stats(ctx context.Context) (Stats, error) {
	out := Stats{Model: v.o.Model}
	v.mu.Lock()
	if v.trouble != nil {
		out.Trouble = llm.DescribeError(v.trouble)
	}
	v.mu.Unlock()
	var s syncState
	err := v.withVectorFile(ctx, func(f *vectorFile) (err error) {
		if s, err = readState(ctx, f.r); err != nil {
			return err
		}
		return f.r.QueryRowContext(ctx, `SELECT coalesce((SELECT sum(used) FROM chunks), 0), (SELECT count(*) FROM vectors WHERE chunk = 0)`).Scan(&out.Held, &out.Refused)
	})
	if err != nil {
		return out, err
	}
	q := v.o.Store.Reader(ctx)
	last, err := v.base.LastChange(q)
	if err != nil {
		return out, err
	}
	out.Numbers, out.Anew, out.Behind = s.dims, s.walking, int(last-s.seq)
	out.FirstPass = v.planSearch(out.Held, s.dims, 20).rescored > 0
	if s.walking || s.model != v.modelIdentity() {
		out.Anew = true
		err = q.QueryRow(`SELECT count(*) FROM docs WHERE n > ?`, s.walked).Scan(&out.Behind)
	}
	if fi, ferr := os.Stat(v.o.Path); ferr == nil {
		out.Bytes = fi.Size()
	}
	return out, err
}

// Enabled reports whether there are vectors. It returns false for a nil *Vectors.
func (v *Vectors) Enabled() bool { return v != nil }

// DerivedStats returns the state for the API.
func (v *Vectors) DerivedStats(ctx context.Context) (api.DerivedStats, error) {
	out := api.DerivedStats{Name: "vectors", State: "off"}
	if !v.Enabled() {
		return out, nil
	}
	s, err := v.Stats(ctx)
	if err != nil {
		return out, err
	}
	out = api.DerivedStats{Name: out.Name, State: "ready", Cause: s.Trouble, Rows: s.Held, Behind: s.Behind, Bytes: s.Bytes}
	switch {
	case s.Trouble != "":
		out.State = "held"
	case s.Anew:
		out.State = "building"
	case s.Behind > 0:
		out.State = "behind"
	}
	return out, nil
}

// Digest returns a digest of all stored data, so that two files can be compared. It fails if the
// file is inconsistent.
func (v *Vectors) Digest(ctx context.Context) (sum string, rows int, err error) {
	err = v.withVectorFile(ctx, func(f *vectorFile) (err error) {
		sum, rows, err = f.contentDigest(ctx)
		return err
	})
	return sum, rows, err
}

func (f *vectorFile) contentDigest(ctx context.Context) (sum string, rows int, err error) {
	list, err := f.r.QueryContext(ctx, `SELECT v.n, p.realm, p.kind, v.hash, v.v, v.slot, c.ns, c.bits, c.place = v.place
		FROM vectors v JOIN places p ON p.id = v.place LEFT JOIN chunks c ON c.id = v.chunk ORDER BY v.n`)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	h := sha256.New()
	for list.Next() {
		var n int64
		var p partition
		var hash, vec []byte
		var slot int
		var c chunk
		var same sql.NullBool
		if err := list.Scan(&n, &p.realm, &p.kind, &hash, &vec, &slot, &c.ns, &c.bits, &same); err != nil {
			return "", 0, err
		}
		if vec != nil && (!same.Bool || slot >= c.slotCount() || c.rowNumber(slot) != n || string(c.bits[slot*len(c.bits)/c.slotCount():][:len(c.bits)/c.slotCount()]) != string(signBits(vec))) {
			return "", 0, fmt.Errorf("embed: the vector of row %d differs from its chunk", n)
		}
		fmt.Fprintf(h, "%d %q %q %x %x\n", n, p.realm, p.kind, hash, vec)
		rows++
	}
	if err := list.Err(); err != nil {
		return "", 0, err
	}
	var inChunks int
	if err := f.r.QueryRowContext(ctx, `SELECT coalesce(sum(used), 0) - (SELECT count(*) FROM vectors WHERE chunk <> 0) FROM chunks`).Scan(&inChunks); err != nil {
		return "", 0, err
	}
	if inChunks != 0 {
		return "", 0, fmt.Errorf("embed: the chunks contain %d extra rows", inChunks)
	}
	return hex.EncodeToString(h.Sum(nil)), rows, nil
}
