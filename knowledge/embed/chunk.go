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

// chunk contains the sign bits of some rows of one partition. Its slots are contiguous: when a row
// is removed, the last row is moved to the free slot.
type chunk struct {
	id, place int64
	ns, bits  []byte
	dirty     bool
}

func (c *chunk) slotCount() int { return len(c.ns) / 8 }

func (c *chunk) rowNumber(slot int) int64 { return int64(binary.LittleEndian.Uint64(c.ns[8*slot:])) }

func (c *chunk) appendRow(n int64, bits []byte) (slot int) {
	c.ns = binary.LittleEndian.AppendUint64(c.ns, uint64(n))
	c.bits = append(c.bits, bits...)
	c.dirty = true
	return c.slotCount() - 1
}

// removeSlot frees a slot. moved is the row that was moved to the slot, or 0.
func (c *chunk) removeSlot(slot int) (moved int64) {
	width, last := len(c.bits)/c.slotCount(), c.slotCount()-1
	if slot != last {
		moved = c.rowNumber(last)
		copy(c.ns[8*slot:], c.ns[8*last:])
		copy(c.bits[width*slot:], c.bits[width*last:])
	}
	c.ns, c.bits = c.ns[:8*last], c.bits[:width*last]
	c.dirty = true
	return moved
}

// chunkWriter changes vectors and their chunks in one transaction. The caller must flush it at the
// end.
type chunkWriter struct {
	ctx    context.Context //nolint:containedctx // the context lives as long as the transaction
	tx     *sql.Tx
	places map[partition]int64
	chunks map[int64]*chunk
}

// partition is a partition of the vectors: one realm and kind.
type partition struct{ realm, kind string }

func newWriter(ctx context.Context, tx *sql.Tx) *chunkWriter {
	return &chunkWriter{ctx: ctx, tx: tx, places: map[partition]int64{}, chunks: map[int64]*chunk{}}
}

// vectorRow is the stored vector of a row of docs. v is packed, or nil if the model rejects the
// text.
type vectorRow struct {
	n    int64
	at   partition
	hash []byte
	v    []byte
}

// putRow inserts or replaces a row.
func (w *chunkWriter) putRow(r vectorRow) error {
	if err := w.dropRow(r.n); err != nil {
		return err
	}
	at, err := w.ensurePartition(r.at)
	if err != nil {
		return err
	}
	id, slot := int64(0), 0
	if r.v != nil {
		c, err := w.chunkWithSpace(at)
		if err != nil {
			return err
		}
		id, slot = c.id, c.appendRow(r.n, signBits(r.v))
	}
	_, err = w.tx.ExecContext(w.ctx, `INSERT INTO vectors (n, place, hash, chunk, slot, v) VALUES (?, ?, ?, ?, ?, ?)`, r.n, at, r.hash, id, slot, r.v)
	return err
}

// dropRow deletes a row. An unknown row is not an error.
func (w *chunkWriter) dropRow(n int64) error {
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
		c, err := w.loadChunk(id)
		if err != nil {
			return err
		}
		if slot >= c.slotCount() || c.rowNumber(slot) != n {
			return fmt.Errorf("%w: row %d is not in its chunk", errVersion, n)
		}
		if moved := c.removeSlot(slot); moved != 0 {
			if _, err := w.tx.ExecContext(w.ctx, `UPDATE vectors SET slot = ? WHERE n = ?`, slot, moved); err != nil {
				return err
			}
		}
	}
	_, err = w.tx.ExecContext(w.ctx, `DELETE FROM vectors WHERE n = ?`, n)
	return err
}

// moveRow moves a row with its vector to another partition.
func (w *chunkWriter) moveRow(n int64, to partition) error {
	r := vectorRow{n: n, at: to}
	err := w.tx.QueryRowContext(w.ctx, `SELECT hash, v FROM vectors WHERE n = ?`, n).Scan(&r.hash, &r.v)
	if err != nil {
		return err
	}
	return w.putRow(r)
}

func (w *chunkWriter) ensurePartition(p partition) (id int64, err error) {
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

func (w *chunkWriter) loadChunk(id int64) (*chunk, error) {
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

// chunkWithSpace returns a chunk of a partition with a free slot.
func (w *chunkWriter) chunkWithSpace(at int64) (*chunk, error) {
	for _, c := range w.chunks {
		if c.place == at && c.slotCount() < perChunk {
			return c, nil
		}
	}
	ids, err := queryInts(w.ctx, w.tx, `SELECT id FROM chunks WHERE place = ? AND used < ?`, at, perChunk)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if c, err := w.loadChunk(id); err != nil || c.slotCount() < perChunk {
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

// flushChunks writes the changed chunks.
func (w *chunkWriter) flushChunks() (err error) {
	for _, c := range w.chunks {
		switch {
		case !c.dirty:
		case c.slotCount() == 0:
			_, err = w.tx.ExecContext(w.ctx, `DELETE FROM chunks WHERE id = ?`, c.id)
		default:
			_, err = w.tx.ExecContext(w.ctx, `UPDATE chunks SET used = ?, ns = ?, bits = ? WHERE id = ?`, c.slotCount(), c.ns, c.bits, c.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
