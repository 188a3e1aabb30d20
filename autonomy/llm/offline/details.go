package offline

import "strings"

// textDetails holds a free text and the parts removed from its ends.
type textDetails struct {
	text     string
	times    []*span
	priority string
	project  string
	inner    []*span // times that remain inside the text
}

// slotDetails removes times from the ends of a slot, and what cut removes; cut may be nil.
func (w *intentDraft) slotDetails(name string, cut func(*capture, *textDetails)) textDetails {
	c, ok := w.captureOf(name)
	var d textDetails
	if !ok {
		return d
	}
	for range 6 {
		before := c.to - c.from
		var times []*span
		c.from, c.to, times = w.s.liftTimes(c.from, c.to)
		d.times = append(d.times, times...)
		if cut != nil {
			cut(&c, &d)
		}
		if c.to-c.from == before || c.to <= c.from {
			break
		}
	}
	d.text = w.s.originalText(c.from, c.to)
	d.inner = w.s.timesInside(c.from, c.to)
	if len(d.times) == 0 && len(d.inner) == 1 {
		w.cutInner(c, &d)
	}
	return d
}

// cutQualifiers removes qualifiers such as "with high priority", "in the Garden project" and
// "deadline Friday" from the ends of a task.
func (w *intentDraft) cutQualifiers(c *capture, d *textDetails) {
	if slots, ok := w.tryEdge("suffix.priority", *c); ok && d.priority == "" {
		said := slots["priority"]
		bare := said.from == slots["rest"].to && said.to == c.to && w.s.tokens[said.from-1].kind != punct && !strings.HasPrefix(w.s.tokens[said.from].norm, "asap") // "something important"
		if level, known := w.g.lex.meaningOf("levels", strings.TrimPrefix(w.s.normalizedText(said.from, said.to), "very ")); known && !bare {
			d.priority = level
			c.to = slots["rest"].to
			return
		}
	}
	if slots, ok := w.tryEdge("prefix.priority", *c); ok && d.priority == "" {
		if level, known := w.g.lex.meaningOf("levels", w.s.normalizedText(slots["priority"].from, slots["priority"].to)); known {
			d.priority = level
			c.from = slots["rest"].from
		}
	}
	if slots, ok := w.tryEdge("suffix.project", *c); ok && d.project == "" && len(w.s.timesInside(slots["few_project"].from, c.to)) == 0 {
		d.project = w.s.originalText(slots["few_project"].from, slots["few_project"].to)
		c.to = slots["rest"].to
	}
	if slots, ok := w.tryEdge("suffix.due", *c); ok {
		d.times = append(d.times, slots["time"].span)
		c.to = slots["rest"].to
	}
}

// cutPriority removes a priority that follows the text of a reminder as an addition: "take the pills,
// high priority" and "take the pills with high priority", but not "check the top priority".
func (w *intentDraft) cutPriority(c *capture, d *textDetails) {
	slots, ok := w.tryEdge("suffix.priority", *c)
	if !ok || d.priority != "" {
		return
	}
	said, end := slots["priority"], slots["rest"].to
	before := w.s.tokens[said.from-1]
	if before.kind == punct && before.norm != "," || before.kind != punct && said.from == end { // "(urgent)" is a part of the text
		return
	}
	if level, known := w.g.lex.meaningOf("levels", w.s.normalizedText(said.from, said.to)); known {
		d.priority, c.to = level, end
	}
}

// cutInner removes the only time from the middle of a captured text if words follow it, as in "call
// Tom tomorrow at 9 about the boat".
func (w *intentDraft) cutInner(c capture, d *textDetails) {
	sp := d.inner[0]
	from := w.s.startOfTime(sp)
	next := w.s.skipPunctuation(sp.to)
	if from <= c.from || next >= c.to || w.s.isTied(sp, from) {
		return
	}
	if _, zone, ok := w.g.findZone(w.s.originalText(next+1, c.to)); ok && zone != "" && w.s.tokens[next].norm == "in" { // "at 5pm in Tokyo" may be the time there
		return
	}
	head, tail := w.s.originalText(c.from, from), w.s.originalText(next, c.to)
	switch {
	case w.s.endsSentence(sp.to):
		d.text = head + ". " + tail
	case w.s.lex.containsWord("joiners", w.s.tokens[next].norm):
		d.text = head + " " + tail
	default:
		return
	}
	d.times, d.inner = d.inner, nil
}

// endsSentence reports whether token i is a full stop or a similar mark.
func (s *sentence) endsSentence(i int) bool {
	if i >= len(s.tokens) || s.tokens[i].kind != punct {
		return false
	}
	switch s.tokens[i].norm {
	case ".", "!", "?", ";":
		return true
	}
	return false
}
