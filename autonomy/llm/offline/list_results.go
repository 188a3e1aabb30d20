package offline

import (
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

var (
	addedForm   = lazyregexp.New(`^Added task "(.+)", project (.+ list)\.$`)
	listedForm  = lazyregexp.New(`^(\d+ open tasks?|There are no open tasks) in the project "(.+ list)"[:.]`)
	doneForm    = lazyregexp.New(`^Done: "(.+)"\. `)
	projectForm = lazyregexp.New(`project ([^,()\n]+ list)[,)]`)
	noneForm    = lazyregexp.New(`^There are no open tasks about "buy"\.$`)
)

// joinListParts formats the results for named lists as changes to lists instead of tasks of a
// project. list is the list that the request named, if any.
func joinListParts(parts []string, list string) (out []string) {
	var added, off []string
	for i, part := range parts {
		switch m, l := addedForm.FindStringSubmatch(part), listedForm.FindStringSubmatch(part); {
		case m != nil:
			added = append(added, m[1])
			if next := i + 1; next < len(parts) {
				if n := addedForm.FindStringSubmatch(parts[next]); n != nil && n[2] == m[2] {
					continue
				}
			}
			out = append(out, "Added to your "+m[2]+": "+strings.Join(added, ", ")+".")
			added = nil
		case list != "" && doneForm.MatchString(part):
			off = append(off, doneForm.FindStringSubmatch(part)[1])
			if i+1 == len(parts) || !doneForm.MatchString(parts[i+1]) {
				out = append(out, "Off your "+list+": "+strings.Join(off, ", ")+".")
				off = nil
			}
		case l != nil && strings.HasPrefix(l[1], "There"):
			out = append(out, "Your "+l[2]+" is empty.")
		case l != nil:
			out = append(out, "On your "+l[2]+":"+strings.ReplaceAll(part[len(l[0]):], " (project "+l[2]+")", ""))
		case noneForm.MatchString(part) && len(parts) > 1:
		default:
			out = append(out, part)
		}
	}
	return out
}

// listOf returns the named list that the calls of a plan use, or "".
func (p plan) listOf() string {
	for _, c := range p.calls {
		if name, _ := c.args["project"].(string); strings.HasSuffix(name, " list") {
			return name
		}
	}
	return ""
}

// tickNth takes the item at a position off a list. Hob asks first unless it has just shown the list, or the user added
// all of its items in this conversation.
func (w *intentDraft) tickNth(list, ref string) (plan, bool) {
	if !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		if len(results) != 1 || results[0].result == nil || results[0].result.Error {
			return plan{outcome: unknown, say: "I could not read your " + list + ", so I changed nothing."}
		}
		items := listedItems("list_tasks", results[0].result.Text)
		it, ok := w.g.pickItem(items, ref)
		if !ok {
			return plan{outcome: unknown, say: "Your " + list + " has " + countOf(len(items), "item") + ", so I do not know which one you mean and changed nothing."}
		}
		p := plan{outcome: act, accounted: true, calls: []call{{"complete_task", argsOf("task", it.ref, "project", list)}}}
		if w.g.talk.knowsOrder(list, items) {
			return p
		}
		return planConfirmation("Should I take "+quoteText(it.ref)+" off your "+list+"?", p)
	}, call{"list_tasks", argsOf("project", list)})
}

// knowsOrder reports whether the last reply showed a list, or the conversation added all of its items in this order.
func (d *dialogue) knowsOrder(list string, items []item) bool {
	x, _ := d.exchangeAgo(0)
	if slices.ContainsFunc(x.acts, func(p pastCall) bool { return p.tool == "list_tasks" && p.stringArg("project") == list && !p.failed }) {
		return true
	}
	return slices.EqualFunc(d.addedTo(list), items, func(added, it item) bool { return strings.EqualFold(added.ref, it.ref) })
}

// countOf writes a number with its noun: "1 item", "3 items".
func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// takeNamedOff handles "take the ghee off, doctor's orders" while the conversation is about a list. The words must begin
// with the name of an item that the conversation added, and only a reason may follow.
func takeNamedOff(w *intentDraft) (plan, bool) {
	list := w.g.talk.openList()
	c, _ := w.captureOf("text")
	if list == "" || !w.noLead() || w.isQuestion() || w.depth > 0 || len(w.s.timesInside(c.from, c.to)) > 0 {
		return noPlan()
	}
	return w.takeFirstNamed(w.g.talk.addedTo(list), list, c)
}

// takeFirstNamed takes the item off a list with whose name the tokens of a slot begin.
func (w *intentDraft) takeFirstNamed(items []item, list string, c capture) (plan, bool) {
	for to := c.to; to > c.from; to-- {
		name := bareName(w.s.originalText(c.from, to))
		i := slices.IndexFunc(items, func(it item) bool { return strings.EqualFold(it.ref, name) })
		if i >= 0 {
			return plan{outcome: act, accounted: true, calls: []call{{"complete_task", argsOf("task", items[i].ref, "project", list)}}}, w.isReason(to, c.to)
		}
	}
	return noPlan()
}

// addedTo returns the items that the conversation added to a list, oldest first.
func (d *dialogue) addedTo(list string) (out []item) {
	if d == nil {
		return nil
	}
	for _, x := range d.past {
		for _, p := range x.acts {
			if p.tool == "create_task" && p.stringArg("project") == list && !p.failed {
				out = append(out, item{kind: "task", ref: p.stringArg("title")})
			}
		}
	}
	return out
}

// isReason reports whether the tokens from one to another are empty or give a reason, and are no further request or item.
func (w *intentDraft) isReason(from, to int) bool {
	off := from < to && w.s.tokens[from].norm == "off"
	if off {
		from++
	}
	next := w.s.skipPunctuation(from)
	if next >= to {
		return true
	}
	first := w.s.firstWord(next)
	return (off || next > from || w.s.hasWordOf(next, to, "pronouns", "open-references")) && (!w.g.starters[first] || w.g.lex.containsWord("prepositions", first)) && !w.g.lex.containsWord("joints", first) && !w.g.lex.containsWord("negations", first) && first != "but" && first != "or"
}

// showListLike shows the only list whose name contains the words of a name under which no item is open: "the packing list"
// for the Greece packing list. Without such a list, it names those that exist.
func (w *intentDraft) showListLike(name string, results []done) plan {
	names, _ := listProjects(results)
	words := w.g.recordWords(strings.TrimSuffix(name, " list"))
	like := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !containsAll(textnorm.FoldedWords(n), words) })
	if len(like) == 1 {
		p, _ := w.planList(like[0])
		return p
	}
	if len(names) == 0 || slices.Contains(names, name) {
		p, _ := w.planList(name)
		return p
	}
	slices.Sort(names)
	return plan{outcome: chat, say: "There is no " + name + " with open items. Your lists: " + strings.Join(names, ", ") + "."}
}
