package session

import (
	"cmp"
	"context"

	"hob/autonomy/llm"
	"hob/platform/fence"
	"hob/platform/provenance"
)

// plan is a compaction that is being made.
type plan struct {
	session, turn string
	unattended    bool
	at            place
	erased        int // see Sessions.erasing
	old           []said
	prev          Summary
	next          Summary
	first         int64 // with which the new window begins
	whole, gone   int   // bytes of the window, and of what leaves it
}

// plan finds what leaves the window: whole turns up to the given one, the
// oldest first, so that what stays fits into room. The newest keep messages
// stay as far as they fit; the turn itself goes only when it alone is more than
// limit. A negative limit means that the turn is running: it stays, and is in
// room.
func (c *Compactor) plan(ctx context.Context, session, turn string, limit, room, keep int) (*plan, error) {
	e, err := c.s.window(ctx, session)
	if err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	w := e.Value.(*window)
	n := len(w.msgs)
	for n > w.begin() && w.turns[n-1] != turn { // what came later stays
		n--
	}
	if n == w.begin() && limit < 0 { // the turn has stored nothing yet
		n = len(w.msgs)
	}
	if limit < 0 {
		for n > w.begin() && w.turns[n-1] == turn {
			n--
			room -= Chars(w.msgs[n])
		}
		room /= 2 // the summary needs some as well
	}
	cut := w.leaves(n, limit, room, keep)
	if cut == w.begin() {
		return nil, nil
	}
	p := &plan{session: session, turn: turn, at: w.place, whole: w.chars, erased: c.s.erased}
	turns := map[string]bool{}
	for i := range cut {
		p.gone += Chars(w.msgs[i])
		if i < w.begin() {
			p.prev = *w.summary
			continue
		}
		turns[w.turns[i]] = true
		p.old = append(p.old, said{w.ids[i], w.msgs[i]})
	}
	p.first = p.old[len(p.old)-1].id + 1
	from := [][]provenance.Origin{p.prev.Origins}
	for _, m := range p.old {
		from = append(from, Origins(m.msg))
	}
	p.next = Summary{Origins: provenance.Join(from...), Fence: fence.New(""), First: cmp.Or(p.prev.First, p.old[0].id), Last: p.first - 1, Turns: p.prev.Turns + len(turns)}
	return p, nil
}

// leaves is the index up to which messages leave the window, which ends at n:
// the newest turn stays when it has at most limit or room, older ones while
// there are fewer than keep messages and all have room.
func (w *window) leaves(n, limit, room, keep int) int {
	i, chars := n, 0
	for i > w.begin() {
		j, size := i, 0
		for j > w.begin() && w.turns[j-1] == w.turns[i-1] {
			j--
			size += Chars(w.msgs[j])
		}
		fits := n-i < keep && chars+size <= room
		if i == n {
			fits = size <= max(limit, room)
		}
		if !fits {
			return i
		}
		i, chars = j, chars+size
	}
	return i
}

// Origins are from where the outside text in a message came.
func Origins(m llm.Message) []provenance.Origin {
	var lists [][]provenance.Origin
	for _, p := range m.Parts {
		if p.Source.Tainted() && len(p.Origins) > 0 {
			lists = append(lists, p.Origins)
		}
	}
	return provenance.Join(lists...)
}

// OriginsIn are those of a message that is shown elsewhere: where it repeats
// what others of its conversation brought, the conversation itself is named.
func OriginsIn(m llm.Message, session, turn string) []provenance.Origin {
	if _, src := Text(m); !src.Tainted() {
		return nil
	}
	if list := Origins(m); len(list) > 0 {
		return list
	}
	return []provenance.Origin{{Kind: "conversation", Label: session, Event: turn}}
}
