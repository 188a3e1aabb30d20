package offline

import (
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/text/textnorm"
)

// focusItem returns the single record that "it" refers to: the record that the conversation created,
// changed or showed last.
func (d *dialogue) focusItem() (item, bool) {
	list := d.mentionedItems()
	if len(list) != 1 {
		return item{}, false
	}
	return list[0], true
}

// mentionedItems returns the records of the latest exchange that mentioned any.
func (d *dialogue) mentionedItems() []item {
	list, _ := d.latestItems()
	return list
}

// latestItems returns the records of the latest exchange that mentioned any, and how many exchanges ago that was.
func (d *dialogue) latestItems() ([]item, int) {
	for n := range recent {
		x, ok := d.exchangeAgo(n)
		if !ok {
			return nil, n
		}
		if list, any := x.listItems(); any {
			return list, n
		}
		if list := d.namedInReply(n); len(list) > 0 {
			return list, n
		}
	}
	return nil, recent
}

// namedInReply returns the records of earlier exchanges that a reply without an action names: "Second one: order
// rings".
func (d *dialogue) namedInReply(n int) (out []item) {
	x, _ := d.exchangeAgo(n)
	if len(x.acts) > 0 || strings.HasPrefix(x.reply, "I ") {
		return nil
	}
	for _, it := range d.knownItems(n + 1) {
		if len(it.ref) > 2 && indexPhrase(strings.Map(quotesToSpaces, x.reply), strings.ToLower(it.ref)) >= 0 {
			out = append(out, it)
		}
	}
	timed := slices.DeleteFunc(slices.Clone(out), func(it item) bool { return it.shownTime() == "" || !strings.Contains(x.reply, it.shownTime()) })
	if len(timed) > 0 {
		return timed
	}
	return out
}

// quotesToSpaces replaces marks around a name by spaces, so that it is found as a whole word.
func quotesToSpaces(r rune) rune {
	if strings.ContainsRune(`“”":;()`, r) {
		return ' '
	}
	return r
}

// knownItems returns the records that the exchanges from n on mentioned, latest first, without the removed ones.
func (d *dialogue) knownItems(n int) (out []item) {
	var gone []pastCall
	for ; n < 2*remembered; n++ {
		x, ok := d.exchangeAgo(n)
		if !ok {
			break
		}
		list, _ := x.listItems()
		for _, it := range list {
			same := func(o item) bool { return d.isSame(o, it) }
			if !d.isGone(it, gone) && !slices.ContainsFunc(out, same) {
				out = append(out, it)
			}
		}
		gone = append(gone, x.listRemovals()...)
	}
	return out
}

// listRemovals returns the calls of an exchange that removed records.
func (x *exchange) listRemovals() (out []pastCall) {
	for _, p := range x.acts {
		if !p.isEffectful() && p.changesRecords() {
			out = append(out, p)
		}
	}
	return out
}

// isGone reports whether one of the calls removed the record.
func (d *dialogue) isGone(it item, gone []pastCall) bool {
	return slices.ContainsFunc(gone, func(p pastCall) bool {
		return it.ref != "" && strings.Contains(strings.ToLower(p.text), `"`+strings.ToLower(it.ref)+`"`) && (!d.sharesName(it) || strings.Contains(p.text, it.shownTime()))
	})
}

// isSame reports whether two items are the same record.
func (d *dialogue) isSame(a, b item) bool {
	return a.kind == b.kind && a.ref == b.ref && (!d.sharesName(a) || a.shownTime() == b.shownTime())
}

// sharesName reports whether the conversation created two reminders with the name of an item.
func (d *dialogue) sharesName(it item) bool {
	created := 0
	for n := range 2 * remembered {
		x, _ := d.exchangeAgo(n)
		for _, p := range x.acts {
			if !p.failed && p.tool == "create_reminder" && textnorm.EqualFolded(p.stringArg("text"), it.ref) {
				created++
			}
		}
	}
	return created > 1
}

// shownTime returns the time of a reminder as Hob showed it, or "".
func (it item) shownTime() string {
	if it.made == nil {
		_, at := cutDetails(it.line)
		return at
	}
	_, shown, ok := strings.Cut(it.made.text, "remind you ")
	at, _, named := strings.Cut(shown, ": ")
	if !ok || !named {
		return ""
	}
	return at
}

// withTimes adds the time to the name of each reminder that another one of the conversation shares: "timer, today at
// 13:16".
func (d *dialogue) withTimes(list []item) []item {
	out := slices.Clone(list)
	for i, it := range out {
		if at := it.shownTime(); it.kind == "reminder" && at != "" && d.sharesName(it) {
			out[i].ref += ", " + at
		}
	}
	return out
}

// bareRef returns the name of a record without the time that withTimes added.
func (it item) bareRef() string { return strings.TrimSuffix(it.ref, ", "+it.shownTime()) }

// lastTwo returns the two records that "both" refers to: those that the last two messages created, or the
// last two that were mentioned together.
func (d *dialogue) lastTwo() []item {
	var created []item
	asked := 0
	if d.onlyAsked() { // an open question is between
		asked = 1
	}
	for n := range recent {
		x, _ := d.exchangeAgo(n + asked)
		list, _ := x.listItems()
		switch {
		case len(list) == 2 && len(created) == 0:
			return list
		case len(list) == 1 && len(created) == n && n < 2 && list[0].made != nil && strings.HasPrefix(list[0].made.tool, "create_"):
			created = append(created, list[0])
		}
	}
	if len(created) == 2 && created[0].kind == created[1].kind {
		slices.Reverse(created)
		return d.withTimes(created)
	}
	return nil
}

// listAround returns the list from which the record of the last message was taken: after "the
// second one is done", "the first one" refers to the same list. Without such a list, it returns the
// records that the last messages created, or the records themselves. all also contains the records that were removed
// since.
func (d *dialogue) listAround(last []item) (alive, all []item) {
	if len(last) > 1 {
		return last, last
	}
	kind := ""
	var gone []pastCall
	for n := range recent {
		x, _ := d.exchangeAgo(n)
		list, _ := x.listItems()
		inList := func(it item) bool { return d.isSame(it, last[0]) }
		if len(last) == 0 {
			inList = func(it item) bool { return d.isGone(it, gone) }
		}
		if len(list) > 1 && slices.ContainsFunc(list, inList) {
			return slices.DeleteFunc(slices.Clone(list), func(it item) bool { return d.isGone(it, gone) }), list
		}
		for _, p := range x.listRemovals() {
			gone = append(gone, p)
			if kind == "" {
				kind = map[string]string{"cancel_reminder": "reminder", "delete_task": "task"}[p.tool]
			}
		}
	}
	if len(last) == 1 {
		kind = last[0].kind
	}
	if alive, all = d.createdRun(kind); len(all) > 1 {
		return alive, all
	}
	return last, last
}

// createdRun returns the records of a kind that the last messages created one by one, oldest first. all also contains
// those that were removed since.
func (d *dialogue) createdRun(kind string) (alive, all []item) {
	var gone []pastCall
	for n := range remembered {
		x, _ := d.exchangeAgo(n)
		removed := x.listRemovals()
		gone = append(gone, removed...)
		list, found := x.listItems()
		switch {
		case !found, len(list) == 0 && len(removed) > 0:
		case len(list) != 1 || list[0].kind != kind || list[0].made == nil:
			return alive, all
		case strings.HasPrefix(list[0].made.tool, "create_"):
			all = append([]item{list[0]}, all...)
			if !d.isGone(list[0], gone) {
				alive = append([]item{list[0]}, alive...)
			}
		}
	}
	return alive, all
}

// pickAround returns the record that "the second one" names. After a removal, the position must mean the same record
// with and without the removed one.
func (g *grammar) pickAround(last []item, ref string) []item {
	alive, all := g.talk.listAround(last)
	it, ok := g.pickItem(alive, ref)
	before, was := g.pickItem(all, ref)
	if !ok || was && !g.talk.isSame(before, it) && slices.ContainsFunc(alive, func(o item) bool { return g.talk.isSame(o, before) }) {
		return nil
	}
	return g.talk.withTimes([]item{it})
}

// isOther reports whether an answer names the record that was not mentioned last: "the other timer".
func (g *grammar) isOther(said string) bool {
	words := textnorm.FoldedWords(said)
	return slices.Contains(words, "other") && !slices.ContainsFunc(words, func(w string) bool {
		_, plain := g.lex.meaningOf("plain-nouns", w)
		return w != "other" && !plain && !g.lex.containsWord("choice-words", w)
	})
}

// otherItem returns the only record beside the one that the last reply named.
func (d *dialogue) otherItem(last []item) []item {
	if _, open := d.openChoices(); len(open) > 0 || len(last) > 1 {
		return nil
	}
	alive, _ := d.listAround(last)
	rest := slices.DeleteFunc(slices.Clone(alive), func(it item) bool {
		return it.made != nil && it.made.tool == "complete_task" || len(last) == 1 && d.isSame(it, last[0])
	})
	if len(rest) != 1 {
		return nil
	}
	return d.withTimes(rest)
}

// changedNames returns the words that name the record that a call changes or undoes.
func (d *dialogue) changedNames(c call) string {
	args := c.args
	for n := range 2 * remembered {
		x, _ := d.exchangeAgo(n)
		for _, p := range x.acts {
			if id := stringOf(c.args["id"]); id != "" && p.id == id {
				args = p.args
			}
		}
	}
	names := ""
	for _, name := range freeArgs {
		names += " " + stringOf(args[name])
	}
	return names
}

// refersFar reports whether a message changes a record that it does not name although Hob has answered something else
// since it mentioned the record.
func (d *planReview) refersFar() bool {
	if !d.isFollowUp() || d.p.accounted && d.p.answered || d.g.talk == nil {
		return false
	}
	changes := false
	for _, c := range d.allCalls() {
		name := strings.Fields(strings.ToLower(d.g.talk.changedNames(c)))
		if slices.ContainsFunc(d.s.tokens, func(t token) bool { return len(t.norm) > 2 && slices.Contains(name, t.norm) }) {
			return false
		}
		changes = changes || slices.Contains(removedKinds, c.name) || strings.HasPrefix(c.name, "update_") || c.name == "complete_task"
	}
	_, ago := d.g.talk.latestItems()
	for n := range ago {
		x, _ := d.g.talk.exchangeAgo(n)
		if changes && slices.ContainsFunc(x.acts, func(p pastCall) bool { return !p.failed || strings.HasPrefix(p.text, llm.WaitingResult) }) {
			return true
		}
	}
	return false
}
