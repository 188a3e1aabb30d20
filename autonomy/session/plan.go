package session

import (
	"cmp"
	"context"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/promptfence"
)

// plan is a compaction in progress.
type plan struct {
	session, turn string
	unattended    bool
	at            windowStart
	erased        int // see Sessions.countErasure
	old           []summarizedMessage
	prev          Summary
	next          Summary
	first         int64 // first message in the new window
	whole, gone   int   // bytes of the whole window, and of the part that leaves it
	report        Report
}

// planCompaction selects the messages that leave the window: complete turns up to the given turn,
// oldest first, so that the rest fits into room. The newest keep messages stay if they fit. The
// given turn leaves only if it is larger than limit. A negative limit means that the turn is
// running. It then stays and counts toward room.
func (c *Compactor) planCompaction(ctx context.Context, session, turn string, limit, room, keep int) (*plan, error) {
	e, err := c.s.windowOf(ctx, session)
	if err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	w := e.Value.(*window)
	n := len(w.msgs)
	for n > w.firstIndex() && w.turns[n-1] != turn { // messages after the turn stay
		n--
	}
	if n == w.firstIndex() && limit < 0 { // the turn has no messages yet
		n = len(w.msgs)
	}
	if limit < 0 {
		for n > w.firstIndex() && w.turns[n-1] == turn {
			n--
			room -= MessageBytes(w.msgs[n])
		}
		room /= 2 // leave room for the summary
	}
	if n < len(w.msgs) {
		n = w.blockStart(n + 1)
	}
	cut := w.leavingIndex(n, limit, room, keep)
	if cut == w.firstIndex() {
		return nil, nil
	}
	p := &plan{session: session, turn: turn, at: w.windowStart, whole: w.chars, erased: c.s.erased}
	turns := map[string]bool{}
	for i := range cut {
		p.gone += MessageBytes(w.msgs[i])
		if i < w.firstIndex() {
			p.prev = *w.summary
			continue
		}
		turns[w.turns[i]] = true
		p.old = append(p.old, summarizedMessage{w.ids[i], w.msgs[i]})
	}
	p.first = p.old[len(p.old)-1].id + 1
	from := [][]provenance.Origin{p.prev.Origins}
	for _, m := range p.old {
		from = append(from, Origins(m.msg))
	}
	p.next = Summary{Origins: provenance.Join(from...), Fence: promptfence.New(""), First: cmp.Or(p.prev.First, p.old[0].id), Last: p.first - 1, Turns: p.prev.Turns + len(turns)}
	return p, nil
}

// leavingIndex returns the index before which messages leave the window, which ends at n. The
// newest turn stays if its size is at most limit or room, in bytes. Older turns stay while fewer
// than keep messages stay and all of them fit into room.
func (w *window) leavingIndex(n, limit, room, keep int) int {
	i, chars := n, 0
	for i > w.firstIndex() {
		j, size := w.blockStart(i), 0
		for _, m := range w.msgs[j:i] {
			size += MessageBytes(m)
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

// Origins returns the origins of the untrusted text in a message.
func Origins(m llm.Message) []provenance.Origin {
	var lists [][]provenance.Origin
	for _, p := range m.Parts {
		if p.Source.Tainted() && len(p.Origins) > 0 {
			lists = append(lists, p.Origins)
		}
	}
	return provenance.Join(lists...)
}

// OriginsIn returns the origins of a message that is shown outside its conversation. Text that the
// message repeats from its conversation has that conversation as its origin.
func OriginsIn(m llm.Message, session, turn string) []provenance.Origin {
	if _, src := Text(m); !src.Tainted() {
		return nil
	}
	if list := Origins(m); len(list) > 0 {
		return list
	}
	return []provenance.Origin{{Kind: "conversation", Label: session, Event: turn}}
}
