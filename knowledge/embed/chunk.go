package embed

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
)

// perChunk is the maximum number of rows in a chunk.
const perChunk = 512

// chunk holds the sign bits of some rows of one partition. Its slots are contiguous: removing a row
// moves the last row into its slot.
type chunk struct {
	id, place int64
	ns, bits  []byte
	dirty     bool
}

func (c *chunk) used() int { return len(c.ns) / 8 }

func (c *chunk) n(slot int) int64 { return int64(binary.LittleEndian.Uint64(c.ns[8*slot:])) }

func (c *chunk) add(n int64, bits []byte) (slot int) {
	c.ns = binary.LittleEndian.AppendUint64(c.ns, uint64(n))
	c.bits = append(c.bits, bits...)
	c.dirty = true
	return c.used() - 1
}

// remove frees a slot. moved is the row that took the slot, or 0.
func (c *chunk) remove(slot int) (moved int64) {
	width, last := len(c.bits)/c.used(), c.used()-1
	if slot != last {
		moved = c.n(last)
		copy(c.ns[8*slot:], c.ns[8*last:])
		copy(c.bits[width*slot:], c.bits[width*last:])
	}
	c.ns, c.bits = c.ns[:8*last], c.bits[:width*last]
	c.dirty = true
	return moved
}

// writer changes vectors and their chunks in one transaction. The caller flushes it last.
type writer struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the transaction
	tx     *sql.Tx
	places map[place]int64
	chunks map[int64]*chunk
}

// place is a partition of the vectors: one realm and kind.
type place struct{ realm, kind string }

func newWriter(ctx context.Context, tx *sql.Tx) *writer {
	return &writer{ctx: ctx, tx: tx, places: map[place]int64{}, chunks: map[int64]*chunk{}}
}

// row is the stored vector of a row of docs; v is packed, or nil if the model refuses the text.
type row struct {
	n    int64
	at   place
	hash []byte
	v    []byte
}

// put inserts or replaces a row.
func (w *writer) put(r row) error {
	if err := w.drop(r.n); err != nil {
		return err
	}
	at, err := w.place(r.at)
	if err != nil {
		return err
	}
	id, slot := int64(0), 0
	if r.v != nil {
		c, err := w.room(at)
		if err != nil {
			return err
		}
		id, slot = c.id, c.add(r.n, signs(r.v))
	}
	_, err = w.tx.ExecContext(w.ctx, `INSERT INTO vectors (n, place, hash, chunk, slot, v) VALUES (?, ?, ?, ?, ?, ?)`, r.n, at, r.hash, id, slot, r.v)
	return err
}

// drop deletes a row. An unknown row is not an error.
func (w *writer) drop(n int64) error {
	var id int64
	var slot int
	err := w.tx.QueryRowContext(w.ctx, `SELECT chunk, slot FROM vectors WHERE n = ?`, n).Scan(&id, &slot)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if id != 0 {
		c, err := w.chunk(id)
		if err != nil {
			return err
		}
		if slot >= c.used() || c.n(slot) != n {
			return fmt.Errorf("%w: row %d is not in its chunk", errVersion, n)
		}
		if moved := c.remove(slot); moved != 0 {
			if _, err := w.tx.ExecContext(w.ctx, `UPDATE vectors SET slot = ? WHERE n = ?`, slot, moved); err != nil {
				return err
			}
		}
	}
	_, err = w.tx.ExecContext(w.ctx, `DELETE FROM vectors WHERE n = ?`, n)
	return err
}

// move moves a row with its vector to another partition.
func (w *writer) move(n int64, to place) error {
	r := row{n: n, at: to}
	err := w.tx.QueryRowContext(w.ctx, `SELECT hash, v FROM vectors WHERE n = ?`, n).Scan(&r.hash, &r.v)
	if err != nil {
		return err
	}
	return w.put(r)
}

func (w *writer) place(p place) (id int64, err error) {
	if id, ok := w.places[p]; ok {
		return id, nil
	}
	if _, err = w.tx.ExecContext(w.ctx, `INSERT INTO places (realm, kind) VALUES (?, ?) ON CONFLICT DO NOTHING`, p.realm, p.kind); err != nil {
		return 0, err
	}
	if err = w.tx.QueryRowContext(w.ctx, `SELECT id FROM places WHERE realm = ? AND kind = ?`, p.realm, p.kind).Scan(&id); err != nil {
		return 0, err
	}
	w.places[p] = id
	return id, nil
}

func (w *writer) chunk(id int64) (*chunk, error) {
	if c, ok := w.chunks[id]; ok {
		return c, nil
	}
	c := &chunk{id: id}
	err := w.tx.QueryRowContext(w.ctx, `SELECT place, ns, bits FROM chunks WHERE id = ?`, id).Scan(&c.place, &c.ns, &c.bits)
	if err != nil {
		return nil, err
	}
	w.chunks[id] = c
	return c, nil
}

// room returns a chunk of a partition with a free slot.
func (w *writer) room(at int64) (*chunk, error) {
	for _, c := range w.chunks {
		if c.place == at && c.used() < perChunk {
			return c, nil
		}
	}
	ids, err := numbers(w.ctx, w.tx, `SELECT id FROM chunks WHERE place = ? AND used < ?`, at, perChunk)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if c, err := w.chunk(id); err != nil || c.used() < perChunk {
			return c, err
		}
	}
	res, err := w.tx.ExecContext(w.ctx, `INSERT INTO chunks (place, used, ns, bits) VALUES (?, 0, x'', x'')`, at)
	if err != nil {
		return nil, err
	}
	c := &chunk{place: at}
	if c.id, err = res.LastInsertId(); err != nil {
		return nil, err
	}
	w.chunks[c.id] = c
	return c, nil
}

// flush writes the changed chunks.
func (w *writer) flush() (err error) {
	for _, c := range w.chunks {
		switch {
		case !c.dirty:
		case c.used() == 0:
			_, err = w.tx.ExecContext(w.ctx, `DELETE FROM chunks WHERE id = ?`, c.id)
		default:
			_, err = w.tx.ExecContext(w.ctx, `UPDATE chunks SET used = ?, ns = ?, bits = ? WHERE id = ?`, c.used(), c.ns, c.bits, c.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
