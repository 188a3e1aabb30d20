package offline

// details is a free text and the parts removed from its ends.
type details struct {
	text     string
	times    []*span
	priority string
	project  string
	inner    []*span // times that remain inside the text
}

// details removes times, and for tasks a priority and a project, from the ends of a slot.
func (w *wish) details(name string, task bool) details {
	c, ok := w.capture(name)
	var d details
	if !ok {
		return d
	}
	for range 6 {
		before := c.to - c.from
		var times []*span
		c.from, c.to, times = w.s.lift(c.from, c.to)
		d.times = append(d.times, times...)
		if task {
			w.qualifiers(&c, &d)
		}
		if c.to-c.from == before || c.to <= c.from {
			break
		}
	}
	d.text = w.s.original(c.from, c.to)
	d.inner = w.s.inside(c.from, c.to)
	if len(d.times) == 0 && len(d.inner) == 1 {
		w.cutInner(c, &d)
	}
	return d
}

// qualifiers removes "with high priority", "in the Garden project" and "deadline Friday" from
// the ends of a task.
func (w *wish) qualifiers(c *capture, d *details) {
	if slots, ok := w.edge("suffix.priority", *c); ok && d.priority == "" {
		if level, known := w.g.lex.get("levels", w.s.norms(slots["priority"].from, slots["priority"].to)); known {
			d.priority = level
			c.to = slots["rest"].to
			return
		}
	}
	if slots, ok := w.edge("prefix.priority", *c); ok && d.priority == "" {
		if level, known := w.g.lex.get("levels", w.s.norms(slots["priority"].from, slots["priority"].to)); known {
			d.priority = level
			c.from = slots["rest"].from
		}
	}
	if slots, ok := w.edge("suffix.project", *c); ok && d.project == "" && len(w.s.inside(slots["few_project"].from, c.to)) == 0 {
		d.project = w.s.original(slots["few_project"].from, slots["few_project"].to)
		c.to = slots["rest"].to
	}
	if slots, ok := w.edge("suffix.due", *c); ok {
		d.times = append(d.times, slots["time"].span)
		c.to = slots["rest"].to
	}
}

// cutInner removes the only time from the middle of a text if words follow it: "call Tom
// tomorrow at 9 about the boat".
func (w *wish) cutInner(c capture, d *details) {
	sp := d.inner[0]
	from := sp.from
	for from > c.from && w.s.lex.has("prepositions", w.s.tokens[from-1].norm) {
		from--
	}
	next := w.s.skip(sp.to)
	if from <= c.from || next >= c.to || w.s.tied(sp, from) {
		return
	}
	head, tail := w.s.original(c.from, from), w.s.original(next, c.to)
	switch {
	case w.s.endsSentence(sp.to):
		d.text = head + ". " + tail
	case w.s.lex.has("joiners", w.s.tokens[next].norm):
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
