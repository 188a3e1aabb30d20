package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/text/textnorm"
)

// dialogue is the state of a conversation. It is computed from the stored conversation, so it
// survives a restart and needs no table.
type dialogue struct {
	past []exchange
}

// exchange is one earlier message from the user together with Hob's answer and actions.
type exchange struct {
	own, reply string
	acts       []pastCall
	at         time.Time // when Hob answered; zero if unknown
}

// pastCall is a call in an earlier exchange.
type pastCall struct {
	id     string
	tool   string
	args   map[string]any
	text   string // the result
	failed bool
	lookup bool   // whether a later step of the same turn used the result
	before string // id of the action that an undo offered to undo instead of the last one
}

// item is a record that the conversation mentioned.
type item struct {
	kind string // "task", "reminder", "note", ...
	ref  string // its id or text, as the tools accept it
	line string // the line that showed it, for a record in a list
	made *pastCall
}

// undoHint precedes, in the result of the tool undo, the id of the action before one that cannot be
// undone (see autonomy/undo).
const undoHint = "\n[hint] If the user agrees, call undo with the id "

// recent is the maximum age of a mentioned record, in exchanges.
const recent = 4

// createdKinds maps the tools that create or change a record to its kind and to the argument that
// names it.
var createdKinds = map[string][2]string{
	"create_task": {"task", "title"}, "update_task": {"task", "task"}, "complete_task": {"task", "task"},
	"create_reminder": {"reminder", "text"}, "update_reminder": {"reminder", "reminder"},
	"log_expense": {"expense", "category"}, "remember": {"fact", "text"}, "create_note": {"note", "title"}, "log_habit": {"habit", "habit"},
}

// removedKinds lists the tools after which the named record no longer exists.
var removedKinds = []string{"cancel_reminder", "delete_task", "delete_note", "forget", "undo"}

// listExchanges lists the exchanges before this turn, oldest first.
func (t *turn) listExchanges() []exchange {
	if t.past != nil {
		return t.past
	}
	var out []exchange
	var now exchange
	index := map[string]int{}
	for _, m := range t.r.Messages[:t.begin] {
		if hasCall(m) {
			now.markLookups()
		}
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && isNearSearch(m): // see turn.nearCalls
			case p.Call != nil && m.Role == llm.Assistant:
				index[p.Call.ID] = len(now.acts)
				now.acts = append(now.acts, pastCallOf(*p.Call))
			case p.Result != nil:
				if i, ok := index[p.Result.ID]; ok && i < len(now.acts) {
					_, before, _ := strings.Cut(p.Result.Text, undoHint)
					now.acts[i].before, _, _ = strings.Cut(before, "\n")
					now.acts[i].text, _, _ = strings.Cut(p.Result.Text, "\n[hint] ")
					now.acts[i].failed = p.Result.Error
				}
			}
		}
		switch {
		case m.Role == llm.User && hasUserContent(m):
			now.own, _, _ = splitWords(m)
			now.own = t.g.tidySpeech(now.own)
		case m.Role == llm.Assistant && !hasCall(m):
			var reply strings.Builder
			for _, p := range m.Parts {
				reply.WriteString(p.Text)
			}
			now.reply, now.at = strings.TrimSpace(reply.String()), m.At
			out = append(out, now)
			now = exchange{}
			clear(index)
		}
	}
	t.past = out
	return out
}

// markLookups marks the calls so far that only read, because another step of the turn follows.
func (x *exchange) markLookups() {
	for i := range x.acts {
		p := &x.acts[i]
		p.lookup = createdKinds[p.tool][0] == "" && !slices.Contains(removedKinds, p.tool)
	}
}

// doneCalls returns the calls of the exchange with their results.
func (x *exchange) doneCalls() (out []done) {
	for _, p := range x.acts {
		out = append(out, done{p.tool, &llm.ToolResult{Text: p.text, Error: p.failed}})
	}
	return out
}

// pastCallOf converts a call, which may use use_tool.
func pastCallOf(c llm.ToolCall) pastCall {
	p := pastCall{id: c.ID, tool: toolOf(c), args: map[string]any{}, failed: true}
	raw := c.Args
	if c.Name == "use_tool" {
		var in struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(c.Args, &in) == nil {
			raw = in.Arguments
		}
	}
	if json.Unmarshal(raw, &p.args) != nil {
		p.args = map[string]any{}
	}
	return p
}

func (p *pastCall) stringArg(name string) string {
	s, _ := p.args[name].(string)
	return s
}

// isEffectful reports whether the call created or changed a record.
func (p *pastCall) isEffectful() bool {
	return !p.failed && createdKinds[p.tool][0] != ""
}

// containsOnly reports whether all words of a text are in a list.
func (g *grammar) containsOnly(list, text string) bool {
	words := textnorm.FoldedWords(text)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !g.lex.containsWord(list, w) })
}

// changesRecords reports whether the call created, changed or removed a record.
func (p pastCall) changesRecords() bool {
	return p.isEffectful() || !p.failed && slices.Contains(removedKinds, p.tool) && !(p.tool == "undo" && (strings.HasPrefix(p.text, "There is nothing") || p.before != ""))
}

// onlyAsked reports whether Hob answered the previous message with a question and changed no record.
func (d *dialogue) onlyAsked() bool {
	x, ok := d.exchangeAgo(0)
	return ok && strings.HasSuffix(x.reply, "?") && !slices.ContainsFunc(x.acts, pastCall.changesRecords)
}

// exchangeAgo returns the exchange n exchanges ago; 0 is the previous one.
func (d *dialogue) exchangeAgo(n int) (exchange, bool) {
	if d == nil || n >= len(d.past) {
		return exchange{}, false
	}
	return d.past[len(d.past)-1-n], true
}

// listItems returns the records that an exchange mentioned. The bool result is true if the exchange
// changed the subject, even to a record that no longer exists.
func (x *exchange) listItems() (list []item, found bool) {
	for i := range x.acts {
		p := &x.acts[i]
		kind := createdKinds[p.tool]
		switch {
		case p.failed, p.lookup:
		case kind[0] != "":
			it := item{kind: kind[0], ref: p.stringArg(kind[1]), made: p}
			if title := p.stringArg("title"); title != "" && it.kind == "task" {
				it.ref = title
			}
			if shown, title, _ := strings.Cut(p.text, ": "); p.tool == "update_reminder" && title != "" && strings.HasPrefix(it.ref, strings.TrimRight(title, ".")+", ") && strings.Contains(shown, "remind you ") {
				it.ref = strings.TrimRight(title, ".") // without the time that tells it from another reminder of the same name
			}
			if text := p.stringArg("text"); text != "" && (p.tool == "update_reminder" || p.tool == "create_note" && it.ref == "") {
				it.ref = text
			}
			list, found = append(list, it), true
		case slices.Contains(removedKinds, p.tool):
			found = true
		default:
			shown := slices.DeleteFunc(listedItems(p.tool, p.text), func(it item) bool { return !strings.Contains(strings.ToLower(x.reply), strings.ToLower(it.ref)) })
			list, found = append(list, shown...), found || len(shown) > 0
		}
	}
	return list, found
}

// openChoices returns the call of the last exchange that failed because several records match, and
// these records.
func (d *dialogue) openChoices() (pastCall, []item) {
	for n := range 2 {
		x, _ := d.exchangeAgo(n)
		for _, p := range x.acts {
			if p.failed && strings.Contains(p.text, severalMatch) {
				return p, choicesIn(p.text)
			}
		}
		if len(x.acts) > 0 {
			break
		}
	}
	return pastCall{}, nil
}

// severalMatch is the start of the error of tools.Pick if several records match.
const severalMatch = "several match: "

var choiceLine = regexp.MustCompile(`(?m)^- (.*) \(([a-z0-9]+)\)$`)

// choicesIn parses the records in the error of tools.Pick.
func choicesIn(text string) (out []item) {
	for _, m := range choiceLine.FindAllStringSubmatch(text, -1) {
		out = append(out, item{ref: m[2], line: m[1]})
	}
	return out
}

// listedItems parses the records that a tool listed, one per line.
func listedItems(tool, text string) (out []item) {
	kind := map[string]string{"list_tasks": "task", "list_reminders": "reminder", "list_notes": "note"}[tool]
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		body, ok := strings.CutPrefix(line, "- ")
		if !ok {
			switch strings.ToLower(strings.Trim(line, ":*# ")) {
			case "tasks":
				kind = "task"
			case "reminders":
				kind = "reminder"
			}
			continue
		}
		k := kind
		if tool == "search_knowledge" {
			k, body, _ = strings.Cut(body, ": ")
		}
		if k != "task" && k != "reminder" && k != "note" {
			continue
		}
		ref := body
		if i := strings.LastIndex(ref, " ("); i > 0 && strings.HasSuffix(ref, ")") {
			ref = ref[:i]
		}
		if tool == "daily_briefing" { // "15:00 call with Otto"
			if hour, title, ok := strings.Cut(ref, " "); ok && len(hour) == 5 && hour[2] == ':' {
				ref = title
			}
		}
		out = append(out, item{kind: k, ref: ref, line: body})
	}
	return out
}

// pickItem returns the record that an answer names: its position, or words that only it contains.
// Every word of the answer must be accounted for.
func (g *grammar) pickItem(list []item, said string) (item, bool) {
	words := textnorm.FoldedWords(said)
	words = slices.DeleteFunc(words, func(w string) bool { return g.lex.containsWord("choice-words", w) })
	if len(words) == 0 {
		return item{}, false
	}
	if len(words) == 1 {
		word := words[0]
		if m, ok := g.lex.meaningOf("ordinals", word); ok {
			word = m
		}
		if n, ok := ordinalOf(word); ok {
			switch {
			case n == middlePosition && len(list)%2 == 1:
				n = len(list)/2 + 1
			case n == middlePosition:
				return item{}, false
			case n < 0:
				n = len(list)
			}
			if n > 0 && n <= len(list) {
				return list[n-1], true
			}
			return item{}, false
		}
	}
	var found []item
	for _, it := range list {
		have := textnorm.FoldedWords(it.line)
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) }) {
			found = append(found, it)
		}
	}
	if len(found) != 1 {
		return item{}, false
	}
	return found[0], true
}

// isOrdinal reports whether an answer names a record only by its position.
func (g *grammar) isOrdinal(said string) bool {
	words := slices.DeleteFunc(textnorm.FoldedWords(said), func(w string) bool { return g.lex.containsWord("choice-words", w) })
	if len(words) != 1 {
		return false
	}
	_, ok := ordinalOf(words[0])
	return ok
}

// middlePosition is the position of "the middle one", see ordinalOf.
const middlePosition = -2

// ordinalOf returns the position that a word names, counted from 1; -1 is the last one.
func ordinalOf(word string) (int, bool) {
	switch word {
	case "last":
		return -1, true
	case "middle":
		return middlePosition, true
	}
	for i, forms := range [][]string{{"1", "first", "1st"}, {"2", "second", "2nd"}, {"3", "third", "3rd"}, {"4", "fourth", "4th"}, {"5", "fifth", "5th"}, {"6", "sixth", "6th"}} {
		if slices.Contains(forms, word) {
			return i + 1, true
		}
	}
	return 0, false
}
