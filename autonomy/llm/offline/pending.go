package offline

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// amendPending applies a correction to the records that an open question would create: "no, it was 45" after "Should I
// log 54.00 for ...?". The corrected plan asks again. A correction never changes an older record instead.
func (g *grammar) amendPending(q *question, text string, now time.Time) (plan, bool) {
	last, _ := g.talk.exchangeAgo(0)
	if q.lang != nil || !strings.HasSuffix(last.reply, q.text) || slices.ContainsFunc(q.agree.calls, func(c call) bool { return createdKinds[c.name][0] == "" }) {
		return noPlan()
	}
	calls := q.agree.calls
	if len(q.agree.then) > 0 {
		calls = q.agree.then
	}
	made := exchange{own: last.own, reply: "OK.", at: last.at}
	for _, c := range calls {
		p := pastCall{id: "pending", tool: c.name, text: "OK"}
		if json.Unmarshal(c.encodeArgs(), &p.args) != nil {
			return noPlan()
		}
		made.acts = append(made.acts, p)
	}
	past := append(slices.Clone(g.talk.past[:len(g.talk.past)-1]), made)
	p := g.inDialogue(&dialogue{past: past}).planRequests(text, now, 0)
	if p.intent == nil || p.intent.rank < 1 || !g.changesRecords(p) {
		return noPlan()
	}
	keep := plan{outcome: ask, say: "I cannot use " + quoteText(text) + " as an answer to that.", question: q}
	if p.next != nil || len(q.agree.then) > 0 {
		return keep, true
	}
	amended, ok := amendCalls(calls, p)
	if !ok {
		return keep, true
	}
	if len(amended) == 0 {
		return g.planNeverMind(), true
	}
	asked, ok := g.readBack(plan{outcome: act, calls: amended, intent: q.agree.intent, accounted: true}, now)
	if !ok {
		return keep, true
	}
	return asked, true
}

// amendCalls returns planned calls after a correction of the records that they would create.
func amendCalls(calls []call, p plan) ([]call, bool) {
	out := slices.Clone(calls)
	if len(p.then) == 1 && len(p.calls) == 1 && p.calls[0].name == "undo" { // the record is made again with other arguments
		i := slices.IndexFunc(out, func(c call) bool { return c.name == p.then[0].name })
		if i < 0 || len(out) > 1 {
			return nil, false
		}
		out[i] = p.then[0]
		return out, true
	}
	for _, c := range append(p.calls[:len(p.calls):len(p.calls)], p.then...) {
		kind := c.name[strings.LastIndex(c.name, "_")+1:]
		ref := stringOf(c.args[kind])
		i := slices.IndexFunc(out, func(o call) bool {
			return ref != "" && o.name == "create_"+kind && (stringOf(o.args["text"]) == ref || stringOf(o.args["title"]) == ref)
		})
		more := len(p.then) == 0 && c.name == out[0].name && c.args["project"] == out[0].args["project"] && (c.name == "create_task" || c.name == "log_expense" || c.name == "remember")
		switch {
		case i < 0 && more: // "and Tom from work"
			out = append(out, c)
		case i < 0:
			return nil, false
		case c.name == "cancel_reminder" || c.name == "delete_task":
			out = slices.Delete(out, i, i+1)
		case c.name == "update_reminder" || c.name == "update_task":
			args, ok := amendArgs(out[i].args, c.args, kind)
			if !ok {
				return nil, false
			}
			out[i] = call{out[i].name, args}
		default:
			return nil, false
		}
	}
	return out, true
}

// amendArgs merges the arguments of an update into those of the record that it would change.
func amendArgs(args, update map[string]any, kind string) (map[string]any, bool) {
	out := maps.Clone(args)
	for name, v := range update {
		switch name {
		case kind:
		case "at":
			old, err := time.Parse(time.RFC3339, stringOf(args["at"]))
			said := stringOf(v)
			clock, isClock := time.Parse("15:04", said)
			day, isDay := time.ParseInLocation("2006-01-02", said, old.Location())
			switch {
			case isClock == nil && err == nil:
				out["at"] = atClock(old, clock).Format(time.RFC3339)
			case isDay == nil && err == nil:
				out["at"] = atClock(day, old).Format(time.RFC3339)
			case isClock == nil || isDay == nil:
				return nil, false
			default:
				out["at"] = said
			}
			delete(out, "every")
		case "every":
			out["every"] = v
			delete(out, "at")
		case "text", "title", "due", "priority":
			out[name] = v
		default:
			return nil, false
		}
	}
	return out, true
}
