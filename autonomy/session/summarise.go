package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/llm"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/platform/store"
)

// writeSummary requests a summary of the trusted messages. It requests a separate summary of the
// untrusted messages, without access to the trusted ones. It stores the result.
func (c *Compactor) writeSummary(ctx context.Context, model llm.Model, p *plan) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	room := maxAsked
	if n := model.Info().Context; n > 0 {
		room = min(room, int(target*float64(n)*c.s.BytesPerToken(p.session)))
	} else {
		room = min(room, max(p.whole/2, 8000)) // the full text was too long for the model
	}
	rep := Report{How: "summary", Tainted: hasTainted(p.old)}
	var kept, fresh []Pin
	half := func(prev Digest, pins []Pin, outside bool) (Digest, error) {
		if c.s.erasedSince(p.erased) { // erased text must not be summarized
			return Digest{}, errMoved
		}
		req := summaryRequest(p, prev, pins, outside, room)
		req.Account = llm.Account{Purpose: llm.ForSummary, Session: p.session, Event: p.turn}
		resp, err := llm.Collect(model.Stream(ctx, req))
		if err != nil {
			return Digest{}, err
		}
		a, err := parseAnswer(resp.Text())
		if err != nil {
			return Digest{}, err
		}
		rep.Model = modelName(resp, model)
		kept = append(kept, withoutDone(pins, a.Done)...)
		fresh = append(fresh, a.verifiedPins(p.old, outside)...)
		return a.toDigest(), nil
	}
	own := slices.DeleteFunc(slices.Clone(p.prev.Pins), func(x Pin) bool { return x.Source.Tainted() })
	foreign := p.prev.pinsOf(provenance.Outside)
	var err error
	if p.next.Clean = p.prev.Clean; hasClean(p.old) {
		if p.next.Clean, err = half(p.prev.Clean, own, false); err != nil {
			return err
		}
	} else {
		kept = append(kept, own...)
	}
	if p.next.Outside, p.next.Aged = p.prev.Outside, true; rep.Tainted {
		p.next.Aged = false
		if p.next.Outside, err = half(p.prev.Outside, foreign, true); err != nil {
			return err
		}
	} else {
		kept = append(kept, foreign...)
	}
	p.next.Pins = mergePins(kept, fresh)
	return c.commitSummary(ctx, p, rep)
}

// commitSummary moves the window forward, unless the window has moved in the meantime.
func (c *Compactor) commitSummary(ctx context.Context, p *plan, rep Report) error {
	size := MessageBytes(p.next.Message())
	if size >= p.gone {
		return fmt.Errorf("%w: the summary (%d bytes) is longer than the messages (%d bytes)", errAnswer, size, p.gone)
	}
	rep.Session, rep.Turn, rep.Before, rep.After = p.session, p.turn, p.whole, p.whole-p.gone+size
	content, err := encodeSummary(&p.next)
	if err != nil {
		return fmt.Errorf("session: store summary: %w", err)
	}
	failpoint.Hit("session.compact.before")
	return c.s.db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		now, err := placeOf(tx, p.session)
		if err != nil {
			return err
		}
		if now != p.at || c.s.erasedSince(p.erased) {
			return errMoved
		}
		var id int64
		err = tx.QueryRow(`INSERT INTO summaries (session, first, last, content, model, before_chars, after_chars, created_at) VALUES (?,?,?,?,?,?,?,?) RETURNING id`,
			p.session, p.next.First, p.next.Last, content, rep.Model, rep.Before, rep.After, time.Now().UnixMilli()).Scan(&id)
		if err != nil {
			return fmt.Errorf("session: store summary: %w", err)
		}
		if err := c.s.moveTx(tx, p.session, windowStart{first: p.first, summary: id, stubs: p.at.stubs}); err != nil {
			return err
		}
		p.report = rep
		return c.o.Record(tx, rep)
	})
}
